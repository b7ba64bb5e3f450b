"""What passes ask of a graph."""

from __future__ import annotations

from dali_lab.graph.graph import Edge, Graph, Node


def only_consumer(graph: Graph, producer: str) -> Node | None:
    """The one node that uses the first output of `producer` as its first input, if nothing else uses that node."""
    if any(edge.node == producer for edge in graph.outputs) or graph.nodes[producer].arguments.get("preserve"):
        return None
    users = [(node, edge) for node in graph.nodes.values() for edge in node.edges() if edge.node == producer]
    if len(users) != 1:
        return None
    node, edge = users[0]
    if edge.output == 0 and node.inputs and node.inputs[0] == Edge(producer):
        return node
    return None


def replaced_pair(graph: Graph, first: str, second: str, merged: Node) -> Graph:
    """The graph with two nodes replaced by one, which has the name of the second and its place in the order."""
    nodes = {}
    for name, node in graph.nodes.items():
        if name == first:
            continue
        nodes[name] = merged if name == second else node
    return graph.replaced(nodes=nodes)
