"""Readers of arrays that are placed on a GPU: the files are read into its memory, not copied there from the CPU's."""

from __future__ import annotations

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.registry import find_operator


def direct_reading(graph: Graph) -> Graph:
    """Split each reader in two: one on the CPU draws the files of a batch, one on the GPU reads their arrays.

    Exact; for devices that read files themselves alone.
    """
    nodes: dict[str, Node] = {}
    moved: dict[str, str] = {}
    for name, node in graph.nodes.items():
        reader = find_operator(node.op).device_reader
        if not reader or node.device != "gpu":
            nodes[name] = node
            continue
        table = find_operator(reader).argument_table
        arrays = f"{name}__arrays"
        while arrays in graph.nodes:
            arrays += "_"
        region = {key: edge for key, edge in node.connections.items() if key in table}
        drawing = {key: value for key, value in node.arguments.items() if not key.startswith(("roi_", "rel_roi_"))}
        nodes[name] = node.replaced(device="cpu", arguments={**drawing, "_rows": True}, connections={})
        reading = {key: value for key, value in node.arguments.items() if key in table}
        nodes[arrays] = Node(arrays, reader, "gpu", (), {**reading, "stands_for": name}, region, node.origin)
        moved[name] = arrays
    if not moved:
        return graph
    split = graph.replaced(nodes=nodes).rewired(
        lambda edge: edge._replace(node=moved[edge.node]) if edge.node in moved else edge
    )
    for name, arrays in moved.items():
        node = split.nodes[arrays]
        split = split.with_node(node.replaced(connections={**node.connections, "rows": Edge(name)}))
    return split
