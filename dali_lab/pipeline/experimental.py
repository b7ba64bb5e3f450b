"""``pipeline.experimental``: the same ``pipeline_def``, under the name it had when debug mode was new."""

from __future__ import annotations

from typing import Any

from dali_lab.pipeline.definition import pipeline_def as _pipeline_def


def pipeline_def(fn: Any = None, **settings: Any) -> Any:
    """As :func:`dali_lab.pipeline_def`."""
    return _pipeline_def(fn, **settings)


__all__ = ["pipeline_def"]
