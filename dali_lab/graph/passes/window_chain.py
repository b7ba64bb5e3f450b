"""Crops, slices and flips in a row become one copy."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import merged_chains


def window_chain(graph: Graph) -> Graph:
    """Exact: windows of windows are windows, and elements are moved as they are.

    Where a window may be padded, or its position is an input, the operator stays by itself. So do warps: what they
    compute is rounded in between.
    """
    return merged_chains(graph, "_window_chain", _moves_only)


def _moves_only(node: Node) -> bool:
    if node.op not in ("crop", "flip", "slice") or len(node.inputs) != 1:
        return False
    return node.op == "flip" or node.arguments.get("out_of_bounds_policy", "error") != "pad"
