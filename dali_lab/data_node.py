"""Data nodes, under NVIDIA DALI's module name."""

from dali_lab.graph.data_node import (
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
