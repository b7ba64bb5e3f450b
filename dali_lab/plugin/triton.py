"""Marks the pipeline of a model for NVIDIA Triton's DALI backend, so that such programs run here too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["autoserialize"]

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
        raise TypeError("@autoserialize marks functions that are decorated with @pipeline_def, and stands above it")
    dali_pipeline._is_autoserialize = True  # type: ignore[attr-defined]
    return dali_pipeline
