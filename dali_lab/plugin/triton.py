"""Marks the pipeline of a model for NVIDIA Triton's DALI backend, so that such programs run here too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["autoserialize", "invoke_autoserialize"]

F = TypeVar("F", bound=Callable[..., Any])


def autoserialize(dali_pipeline: F) -> F:
    """Mark the one pipeline of a program that a Triton server's DALI backend shall serialize and serve.

    The mark changes nothing here. The server reads the program with NVIDIA DALI; ``pipeline.serialize(filename=…)``
    writes the same model file ahead.

    Parameters
    ----------
    dali_pipeline
        A function decorated with :func:`dali_lab.pipeline_def`.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not getattr(dali_pipeline, "_is_pipeline_def", False):
        raise TypeError("Only `@pipeline_def` can be decorated with `@triton.autoserialize`. It stands above it")
    dali_pipeline._is_autoserialize = True  # type: ignore[attr-defined]
    return dali_pipeline


def invoke_autoserialize(head_module: ModuleType, filename: str) -> None:
    """Write the model file of the one marked pipeline in a module and in those that it imports.

    Raises
    ------
    RuntimeError
        If there is none, or more than one.
    """
    found = _marked(head_module, set())
    if len(found) != 1:
        names = ", ".join(sorted(function.__qualname__ for function in found)) or "none"
        raise RuntimeError(f"Precisely one autoserialize function must exist in the module. Found: {names}.")
    found.pop()().serialize(filename=filename)


def _marked(module: ModuleType, seen: set[ModuleType]) -> set[Callable[..., Any]]:
    seen.add(module)
    found = set()
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType) and value not in seen:
            found |= _marked(value, seen)
        elif inspect.isfunction(value) and getattr(value, "_is_autoserialize", False):
            found.add(value)
    return found
