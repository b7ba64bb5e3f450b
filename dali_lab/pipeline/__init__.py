"""Pipelines: :class:`Pipeline`, and :func:`pipeline_def` which makes them from functions."""

from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy
from dali_lab.graph.recorder import DataNode
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline import experimental
from dali_lab.pipeline.definition import do_not_convert, pipeline_def
from dali_lab.pipeline.pipeline import Pipeline

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "TensorList",
    "do_not_convert",
    "experimental",
    "pipeline_def",
]
