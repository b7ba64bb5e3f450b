"""An operator's `run` is one text for both devices: functions of one name take the same arguments on both.

The function for the CPU documents the arguments.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from dali_lab.kernels.cuda.kernel import HERE
from tests.together import with_each

OF_THEIR_OWN = {
    ("boxes", "transform_points"),
    ("boxes", "encode"),
    ("standardize", "standardize"),
    ("unpack", "unpack_lz4"),
}
"""Called in another way on each device."""


def _pairs() -> Iterator[tuple[str, str]]:
    cpu = {path.stem for path in (HERE.parent / "cpu").glob("*.py")}
    for path in sorted(HERE.glob("*.py")):
        if path.stem in cpu:
            functions = vars(importlib.import_module(f"dali_lab.kernels.cuda.{path.stem}"))
            yield from ((path.stem, name) for name, each in functions.items() if getattr(each, "launches", False))


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@with_each(("module", "name"), [pair for pair in _pairs() if pair not in OF_THEIR_OWN])
def test_arguments_are_the_same(module: str, name: str) -> None:
    cuda, cpu = (getattr(_module(device, module), name, None) for device in ("cuda", "cpu"))
    if cuda is not None and cpu is not None:
        assert _parameters(cuda)[1:] == _parameters(cpu)
        assert "Parameters\n" not in (cuda.__doc__ or "")


def _module(device: str, name: str) -> ModuleType:
    return importlib.import_module(f"dali_lab.kernels.{device}.{name}")
