"""The part of a graph that an export writes: what the outputs need, finished, with bypassed nodes left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dali_lab.errors import FormatError
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.verification import problems
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator, has_operator

MOST_PROBLEMS = 8


def without_bypassed(graph: Graph) -> Graph:
    """The graph with every bypassed node replaced by its first input; one without inputs goes, with what needs it."""
    places = graph.view.get("nodes")
    places = places if isinstance(places, Mapping) else {}
    gone = {
        name
        for name, place in places.items()
        if name in graph.nodes and isinstance(place, Mapping) and place.get("bypass") is True
    }
    if not gone:
        return graph

    def resolved(edge: Edge) -> Edge:
        seen = set()
        while edge.node in gone:
            node = graph.nodes[edge.node]
            if edge.node in seen or edge.output or not node.inputs:
                return Edge("")
            seen.add(edge.node)
            edge = Edge(node.inputs[0].node, node.inputs[0].output, edge.device)
        return edge

    nodes = {}
    for name, node in graph.nodes.items():
        if name in gone:
            continue
        inputs = [resolved(edge) for edge in node.inputs]
        connections = {key: resolved(edge) for key, edge in node.connections.items()}
        lost = any(not now.node and before.node for now, before in zip(inputs, node.inputs, strict=True))
        if lost or any(not edge.node for edge in connections.values()):
            gone.add(name)
            return without_bypassed(_marked(graph, gone, name))
        nodes[name] = node.replaced(inputs=tuple(inputs), connections=connections)
    outputs = tuple(edge for edge in map(resolved, graph.outputs) if edge.node)
    return graph.replaced(nodes=nodes, outputs=outputs)


def _marked(graph: Graph, gone: set[str], off: str) -> Graph:
    """The graph with a node that lacks its input switched off as well: bypassed, and without inputs."""
    places = {**graph.view.get("nodes", {}), off: {"bypass": True}}
    node = graph.nodes[off].replaced(inputs=(), connections={})
    return graph.with_node(node).replaced(view={**graph.view, "nodes": places})


def unneeded(graph: Graph) -> list[str]:
    """The nodes that no output needs, which exports leave out; bypassed ones aside."""
    graph = without_bypassed(graph)
    kept_alive = [name for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    needed = graph.ancestors([*(edge.node for edge in graph.outputs), *kept_alive])
    return [name for name in graph.nodes if name not in needed]


def exported(graph: Graph) -> Graph:
    """What an export writes: bypassed nodes left out, and of the others those that an output needs.

    Raises
    ------
    FormatError
        If there are no outputs, or nodes are unfinished; the message lists what is wrong.
    """
    graph = without_bypassed(graph)
    kept_alive = [name for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    needed = graph.ancestors([*(edge.node for edge in graph.outputs), *kept_alive])
    graph = graph.without(name for name in graph.nodes if name not in needed)
    found = problems(graph)
    if found:
        shown = [f"{f'{item.node}: ' if item.node else ''}{item.message}" for item in found[:MOST_PROBLEMS]]
        more = f"\n  … and {len(found) - MOST_PROBLEMS} more" if len(found) > MOST_PROBLEMS else ""
        raise FormatError("the graph is not finished:\n  " + "\n  ".join(shown) + more)
    if not graph.outputs and not kept_alive:
        raise FormatError("the graph has no outputs")
    return graph


def refuse(graph: Graph, unsuitable: Callable[[type[Operator]], str], target: str) -> None:
    """Raise if there are operators that the target does not have.

    Parameters
    ----------
    unsuitable
        Gives the reason, or an empty text.
    target
        What the target is called.

    Raises
    ------
    FormatError
        With the list of nodes.
    """
    lines = []
    for name, node in graph.nodes.items():
        if has_operator(node.op) and (reason := unsuitable(find_operator(node.op))):
            lines.append(f"{name} ({node.op}): {reason}")
    if lines:
        raise FormatError(f"{target} has no equivalent for:\n  " + "\n  ".join(lines))
