"""``pipeline.experimental``: the same ``pipeline_def``, under the name it had when debug mode was new."""

from dali_lab.pipeline.definition import pipeline_def

__all__ = ["pipeline_def"]
