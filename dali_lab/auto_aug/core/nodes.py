"""Nodes that augmentations need: constants, and numbers drawn for each sample."""

from __future__ import annotations

from typing import Any

from dali_lab import fn
from dali_lab.graph import constants
from dali_lab.model import dtypes


def constant(value: object, dtype: dtypes.DALIDataType | None = None, device: str | None = None) -> Any:
    """A node, or a scalar, with the same value for each sample."""
    return constants.Constant(value, dtype=dtype, device=device)


def draw(seed: int | None, **arguments: Any) -> Any:
    """Numbers for each sample; `arguments` are those of ``fn.random.uniform``."""
    if seed is not None:
        arguments["seed"] = seed
    return fn.random.uniform(**arguments)
