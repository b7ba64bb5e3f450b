"""``pipeline.experimental``: the same ``pipeline_def``, whose argument ``debug`` has no effect here."""

from __future__ import annotations

from typing import Any

from dali_lab._pipeline.definition import pipeline_def as _pipeline_def


def pipeline_def(fn: Any = None, **settings: Any) -> Any:
    """As :func:`dali_lab.pipeline_def`; ``debug`` is accepted, but graphs are always traced first and run then."""
    settings.pop("debug", None)
    return _pipeline_def(fn, **settings)


__all__ = ["pipeline_def"]
