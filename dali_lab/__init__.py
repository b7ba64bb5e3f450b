"""DALI Lab: pipelines of operators over batches, with NVIDIA DALI's names and meaning, with a GPU or without one."""

from dali_lab import fn, types
from dali_lab.data_node import DataNode, newaxis
from dali_lab.errors import DaliLabError
from dali_lab.pipeline import Pipeline, pipeline_def

__version__ = "0.1.0"

__all__ = ["DaliLabError", "DataNode", "Pipeline", "fn", "newaxis", "pipeline_def", "types"]
