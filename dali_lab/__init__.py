"""DALI Lab: pipelines of operators over batches, with NVIDIA DALI's names and meaning, with a GPU or without one."""

import importlib
from typing import Any

from dali_lab import fn, types
from dali_lab.data_node import DataNode, newaxis
from dali_lab.errors import DaliLabError
from dali_lab.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def
from dali_lab.schema.waiting import MODULES, module_reason

__version__ = "0.1.0"

__all__ = [
    "DaliLabError",
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "fn",
    "newaxis",
    "pipeline_def",
    "types",
]

_ON_DEMAND = (
    "auto_aug",
    "backend",
    "compat",
    "external_source",
    "math",
    "ops",
    "pickling",
    "plugin",
    "plugin_manager",
    "tensors",
)

_IN_NOTEBOOKS = {"edit": "widget", "preview": "stepping", "show": "showing"}


def __getattr__(name: str) -> Any:
    """Import the modules that not every program needs when they are first used."""
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _IN_NOTEBOOKS:
        return getattr(importlib.import_module(f"{__name__}.studio.{_IN_NOTEBOOKS[name]}"), name)
    if name in MODULES:
        raise ModuleNotFoundError(module_reason(name), name=f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
