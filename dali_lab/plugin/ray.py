"""Pipelines on Ray; see ``docs/how-to/ray.md``. Importing this needs no Ray; using it does."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dali_lab.interop.ray.requirements import RayError, connect, require_ray

if TYPE_CHECKING:
    from dali_lab.interop.iteration import LastBatchPolicy
    from dali_lab.interop.ray.datasource import dataset
    from dali_lab.interop.ray.iterator import BatchIterator, iterator
    from dali_lab.interop.ray.local import checkpoint
    from dali_lab.interop.ray.stage import Stage, stage
    from dali_lab.interop.ray.train import DataConfig

__all__ = [
    "BatchIterator",
    "DataConfig",
    "LastBatchPolicy",
    "RayError",
    "Stage",
    "checkpoint",
    "connect",
    "dataset",
    "iterator",
    "stage",
]

_HOMES = {
    "BatchIterator": "ray.iterator",
    "DataConfig": "ray.train",
    "LastBatchPolicy": "iteration",
    "checkpoint": "ray.local",
    "dataset": "ray.datasource",
    "iterator": "ray.iterator",
    "Stage": "ray.stage",
    "stage": "ray.stage",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    require_ray()
    return getattr(importlib.import_module(f"dali_lab.interop.{_HOMES[name]}"), name)
