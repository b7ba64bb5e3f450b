"""A resize followed by crop-mirror-normalise becomes one pass over the picture."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import only_consumer, replaced_pair

_RESIZES = ("resize", "random_resized_crop", "resize_crop_mirror")


def resize_normalize(graph: Graph) -> Graph:
    """Exact: the resized values are rounded in between, as they would be when stored."""
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.op not in _RESIZES or "dtype" in node.arguments:
            continue
        user = only_consumer(graph, name)
        if user is None or user.op != "crop_mirror_normalize" or user.device != node.device:
            continue
        if node.arguments.get("save_attrs"):
            continue
        merged = Node(
            user.id,
            "_resize_normalize",
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
