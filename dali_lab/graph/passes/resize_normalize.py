"""A resize followed by crop-mirror-normalise becomes one pass over the picture."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import fused_name, only_consumer, replaced_pair
from dali_lab.schema.registry import find_operator

_FUSED = "_resize_normalize"


def resize_normalize(graph: Graph) -> Graph:
    """Exact: the resized values are rounded in between, as they would be when stored."""
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or not find_operator(node.op).resizes or fused_name(node) != _FUSED:
            continue
        user = only_consumer(graph, name)
        if user is None or find_operator(user.op).resizes or fused_name(user) != _FUSED or user.device != node.device:
            continue
        merged = Node(
            user.id,
            _FUSED,
            node.device,
            node.inputs,
            {
                "resize": node.op,
                "resize_node": node.id,
                "resize_arguments": dict(node.arguments),
                "normalize_arguments": dict(user.arguments),
            },
            {
                **{f"resize.{key}": edge for key, edge in node.connections.items()},
                **{f"normalize.{key}": edge for key, edge in user.connections.items()},
            },
            user.origin,
        )
        graph = replaced_pair(graph, name, user.id, merged)
    return graph
