"""Operators and modules of NVIDIA DALI that this release does not have, each with what it waits for."""

from __future__ import annotations

import functools

WAITING: dict[str, str] = {}


@functools.cache
def _names() -> dict[str, str]:
    """All names of these operators, as far as all ways of writing them agree, with that under ``fn``."""
    from dali_lab.schema.aliases import ALIASES

    names = {_plain(alias.name): alias.successor for alias in ALIASES.values() if alias.successor in WAITING}
    return {**names, **{_plain(name): name for name in WAITING}}


def _plain(name: str) -> str:
    return name.replace("__", ".").replace("_", "").lower()


MODULES: dict[str, str] = {
    "experimental.dynamic": "of dynamic mode there are tensors, batches, operators, readers and generators",
    "experimental.eager": "dali_lab.experimental.dynamic has operators outside of pipelines",
    "experimental.torchvision": "dali-lab export --to torchvision goes the other way; there is no such interface here",
    "plugin.tf": "batches go to TensorFlow as NumPy arrays (as_array) or by DLPack",
    "plugin.paddle": "batches go to Paddle as NumPy arrays (as_array) or by DLPack",
    "plugin.mxnet": "batches go to MXNet as NumPy arrays (as_array) or by DLPack",
    "plugin.triton": "a Triton server runs NVIDIA DALI; export the graph for it (dali-lab export --to dali-serialized)",
    "plugin.pytorch.loader_evaluator": "dali-lab bench times pipelines",
}


def module_reason(name: str) -> str:
    """Why there is no module `name` (relative to the package), as a sentence that says what there is instead."""
    text = f"DALI Lab has no module 'nvidia.dali.{name}' of NVIDIA DALI"
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return f"{text}: {MODULES[name]}" if name else text


def reason(name: str) -> str:
    """What an operator waits for, as a sentence, or an empty string for one that nobody plans.

    Parameters
    ----------
    name
        As it is called under ``fn`` or ``ops`` or in serialized pipelines, today or in older releases of NVIDIA DALI.
    """
    found = _names().get(_plain(name))
    return f"fn.{found} is not in this release: {WAITING[found]}" if found else ""
