"""Graphs: immutable values, traced from Python, verified, and rewritten by passes."""

from dali_lab.graph.graph import Edge, Graph, Node

__all__ = ["Edge", "Graph", "Node"]
