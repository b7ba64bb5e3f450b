"""Nodes that the user has switched off, and the graph without them.

A bypassed node passes its first input on as its first output. A disabled node gives nothing, so every node that
needs it is off too; a bypassed node with nothing to pass on counts as disabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.errors import GraphError

Switch = Literal["bypass", "disabled"]


class Wires(NamedTuple):
    """Inputs of a node, `None` where nothing is connected yet, and its argument inputs."""

    inputs: Sequence[Edge | None]
    connections: Mapping[str, Edge | None]

    def __iter__(self) -> Iterator[Any]:
        return iter([*self.inputs, *self.connections.values()])


def switches(view: Mapping[str, Any]) -> dict[str, Switch]:
    """The nodes that a view (of a graph or of a document) switches off; disabled overrides bypassed."""
    places = view.get("nodes")
    found: dict[str, Switch] = {}
    for name, place in places.items() if isinstance(places, Mapping) else ():
        if isinstance(place, Mapping):
            if place.get("disabled") is True:
                found[name] = "disabled"
            elif place.get("bypass") is True:
                found[name] = "bypass"
    return found


def own_switches(graph: Graph) -> dict[str, Switch]:
    """The nodes of a graph that are switched off; a view may list nodes that no longer exist."""
    found = switches(graph.view)
    return {name: switch for name, switch in found.items() if name in graph.nodes}


class Switched:
    """Effect of switches on a graph.

    Attributes
    ----------
    off
        Nodes that give nothing, each with the node whose switch is the cause; a disabled one is its own cause.
    """

    def __init__(self, wires: Mapping[str, Wires], found: Mapping[str, Switch]) -> None:
        self._wires = wires
        self._switches = {name: switch for name, switch in found.items() if name in wires}
        self.off = {name: name for name, switch in self._switches.items() if switch == "disabled"}
        left = [name for name in wires if name not in self._switches]
        grew = bool(self._switches)
        while grew:
            grew = False
            for name in left:
                if name in self.off:
                    continue
                cause = next((cause for edge in wires[name] if edge is not None and (cause := self.cause(edge))), None)
                if cause is not None:
                    self.off[name] = cause
                    grew = True

    def __bool__(self) -> bool:
        return bool(self._switches)

    def keeps(self, name: str) -> bool:
        """Whether a node works."""
        return name not in self._switches and name not in self.off

    def resolved(self, edge: Edge) -> Edge | None:
        """The edge that stands for another one; `None` where it is off."""
        found = self._followed(edge)
        return found if isinstance(found, Edge) else None

    def cause(self, edge: Edge) -> str | None:
        """The node whose switch turns an edge off; `None` where it is on."""
        found = self._followed(edge)
        return None if isinstance(found, Edge) else found

    def reason(self, cause: str) -> str:
        """Why that node gives nothing, in words."""
        if self._switches.get(cause) == "bypass":
            return f"'{cause}' is bypassed and has nothing to hand on"
        return f"'{cause}' is disabled"

    def _followed(self, edge: Edge) -> Edge | str:
        seen = set()
        while edge.node not in self.off:
            if edge.node not in self._switches:
                return edge
            inputs = self._wires[edge.node].inputs
            first = inputs[0] if inputs else None
            if edge.node in seen or edge.output or first is None:
                return edge.node
            seen.add(edge.node)
            edge = Edge(first.node, first.output, edge.device)
        return self.off[edge.node]


def switched(graph: Graph) -> Switched:
    """Apply the switches in a graph's view."""
    found = switches(graph.view)
    wires = {
        name: Wires([edge if edge.node else None for edge in node.inputs], node.connections)
        for name, node in (graph.nodes.items() if found else ())
    }
    return Switched(wires, found)


def missing_outputs(graph: Graph) -> list[str]:
    """The outputs that are off, in sentences that name the node whose switch is the cause."""
    found = switched(graph)
    return [
        f"output {index} ('{edge}') is off: {found.reason(cause)}"
        for index, edge in enumerate(graph.outputs)
        if (cause := found.cause(edge)) is not None
    ]


def without_off(graph: Graph) -> Graph:
    """The graph that runs: without nodes that are off or bypassed, and without outputs that are off."""
    found = switched(graph)
    if not found:
        return graph
    nodes = {
        name: node.rewired(lambda edge: found.resolved(edge) or edge)
        for name, node in graph.nodes.items()
        if found.keeps(name)
    }
    outputs = tuple(edge for edge in map(found.resolved, graph.outputs) if edge is not None)
    return graph.replaced(nodes=nodes, outputs=outputs)


def complete(graph: Graph) -> Graph:
    """The graph that runs, with all its outputs: a program that expects two must not get one.

    Raises
    ------
    GraphError
        If outputs are off; the message names them, and the node that is disabled.
    """
    if missing := missing_outputs(graph):
        raise GraphError("; ".join(missing) + "; switch the node on again, or remove the output", code="output_off")
    return without_off(graph)
