"""Colour operators in a row become one walk over the pixels."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import connections, described, only_consumer, replaced_pair
from dali_lab.types import BGR, RGB, UINT8, YCbCr

_LINEAR = (
    "brightness",
    "brightness_contrast",
    "color_space_conversion",
    "color_twist",
    "contrast",
    "hsv",
    "hue",
    "saturation",
)


def color_chain(graph: Graph) -> Graph:
    """Exact: each step rounds and clamps as if it stored its result, in the order of the operators.

    Matrices are not multiplied together, as rounding and clamping stand between them.
    """
    for name in list(graph.nodes):
        first = graph.nodes.get(name)
        if first is None or not _is_linear(first):
            continue
        nodes = [first]
        while (user := only_consumer(graph, nodes[-1].id)) is not None and _is_linear(user):
            nodes.append(user)
        if len(nodes) == 1:
            continue
        last = nodes[-1]
        merged = Node(
            last.id,
            "_color_chain",
            last.device,
            first.inputs,
            {"parts": [described(node) for node in nodes]},
            connections(nodes),
            last.origin,
        )
        for node in nodes[:-1]:
            graph = replaced_pair(graph, node.id, last.id, merged)
    return graph


def _is_linear(node: Node) -> bool:
    """Whether UINT8 pixels of three channels become such pixels by a matrix and an offset for each sample."""
    if node.op not in _LINEAR or node.device != "cpu" or node.arguments.get("dtype", UINT8) != UINT8:
        return False
    if node.op == "color_space_conversion":
        spaces = [node.arguments.get(name) for name in ("image_type", "output_type")]
        return all(space in (RGB, BGR, YCbCr) for space in spaces)
    return len(node.inputs) == 1
