"""Data nodes, under NVIDIA DALI's module name."""

from dali_lab.graph.recorder import (
    DataNode,
    OpCall,
    ScalarConstant,
    newaxis,
)

__all__ = [
    "DataNode",
    "OpCall",
    "ScalarConstant",
    "newaxis",
]
