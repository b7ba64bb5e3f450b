"""Colour operators in a row become one walk over the pixels."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import merged_chains
from dali_lab.model.dtypes import BGR, RGB, UINT8, YCbCr

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
    return merged_chains(graph, "_color_chain", _is_linear)


def _is_linear(node: Node) -> bool:
    """Whether UINT8 pixels of three channels become such pixels by a matrix and an offset for each sample."""
    if node.op not in _LINEAR or node.arguments.get("dtype", UINT8) != UINT8:
        return False
    if node.op == "color_space_conversion":
        spaces = [node.arguments.get(name) for name in ("image_type", "output_type")]
        return all(space in (RGB, BGR, YCbCr) for space in spaces)
    return len(node.inputs) == 1
