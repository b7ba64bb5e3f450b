"""Crops and slices right after a decoder become part of it, so that only the region is decoded."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import only_consumer, replaced_pair
from dali_lab.schema.registry import find_operator

_MERGED = {"crop": "decoders.image_crop", "slice": "decoders.image_slice"}


def decode_region(graph: Graph) -> Graph:
    """Exact: a region decodes to the same pixels as the crop of the whole picture."""
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.op != "decoders.image":
            continue
        user = only_consumer(graph, name)
        if user is None or user.op not in _MERGED or not _keeps_meaning(user):
            continue
        table = find_operator(_MERGED[user.op]).argument_table
        decoding = {key: value for key, value in node.arguments.items() if key in table}
        cutting = {key: value for key, value in user.arguments.items() if key in table}
        merged = Node(
            user.id,
            _MERGED[user.op],
            node.device,
            (*node.inputs, *user.inputs[1:]),
            {**decoding, **cutting},
            user.connections,
            user.origin,
        )
        graph = replaced_pair(graph, name, user.id, merged)
    return graph


def _keeps_meaning(user: Node) -> bool:
    """Whether the decoder's own arguments can say the same: no padding, no other type, only height and width."""
    if "dtype" in user.arguments or user.arguments.get("out_of_bounds_policy", "error") != "error":
        return False
    if user.op == "slice":
        axes = user.arguments.get("axes", (1, 0))
        if "axes" in user.connections or any(axis not in (0, 1) for axis in axes):
            return False
        return set(user.arguments.get("axis_names", "WH")) <= set("HW")
    return True
