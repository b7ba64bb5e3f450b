"""Crops and slices right after a decoder become part of it, so that only the region is decoded."""

from __future__ import annotations

from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.passes.matching import only_consumer, replaced_pair
from dali_lab.schema.arguments import MERGED
from dali_lab.schema.registry import find_operator


def decode_region(graph: Graph) -> Graph:
    """Exact: a region decodes to the same pixels as the crop of the whole picture."""
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or find_operator(node.op).whole_decoder != node.op:
            continue
        user = only_consumer(graph, name)
        decoder = "" if user is None else find_operator(user.op).region_decoder(user.arguments, user.connections)
        if user is None or not decoder:
            continue
        table = find_operator(decoder).argument_table
        decoding = {key: value for key, value in node.arguments.items() if key in table}
        cutting = {key: value for key, value in user.arguments.items() if key in table}
        merged = Node(
            user.id,
            decoder,
            node.device,
            (*node.inputs, *user.inputs[1:]),
            {**decoding, **cutting, MERGED.name: (node.id, node.op, node.origin, user.op)},
            user.connections,
            user.origin,
        )
        graph = replaced_pair(graph, name, user.id, merged)
    return graph
