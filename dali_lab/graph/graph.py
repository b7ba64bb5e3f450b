"""The graph: nodes and edges as an immutable value, which every other part edits, rewrites, runs or stores."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dali_lab.model.errors import GraphError, nearest


class Edge(NamedTuple):
    """One output of one node; `device` is set where a pipeline output is moved to another device."""

    node: str
    output: int = 0
    device: str = ""

    def __str__(self) -> str:
        text = f"{self.node}:{self.output}" if self.output else self.node
        return f"{text}@{self.device}" if self.device else text

    @classmethod
    def parse(cls, text: str) -> Edge:
        """Read ``"name"``, ``"name:1"`` or ``"name:1@gpu"``.

        Raises
        ------
        GraphError
            If the text is none of these.
        """
        found = re.fullmatch(r"(.+?)(?::(\d+))?(?:@(cpu|gpu))?", text, re.DOTALL) if isinstance(text, str) else None
        if not found:
            raise GraphError(f"{text!r} does not name an output; write 'node' or 'node:1'")
        return cls(found[1], int(found[2] or 0), found[3] or "")


def bare(edge: Edge) -> Edge:
    """The same output, without the device that it is moved to."""
    return Edge(edge.node, edge.output) if edge.device else edge


@dataclass(frozen=True, eq=False)
class Node:
    """One use of an operator: its placement, inputs and arguments.

    Nodes are equal if they mean the same: an argument that only repeats its default makes no difference.

    Attributes
    ----------
    id
        The node's name, unique in its graph.
    op
        Name of the operator under ``fn``.
    device
        ``"cpu"``, ``"gpu"`` or ``"mixed"``.
    inputs
        Positional inputs.
    arguments
        Constants by name, in canonical form; arguments left out have their defaults.
    connections
        Argument inputs by name.
    origin
        ``file:line`` where a person placed it; no part of the meaning.
    """

    id: str
    op: str
    device: str = "cpu"
    inputs: tuple[Edge, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    connections: Mapping[str, Edge] = field(default_factory=dict)
    origin: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "arguments", MappingProxyType(dict(self.arguments)))
        object.__setattr__(self, "connections", MappingProxyType(dict(self.connections)))

    def __reduce__(self) -> tuple[type[Node], tuple[object, ...]]:
        # Read-only views of dictionaries do not pickle.
        return Node, (
            self.id, self.op, self.device, self.inputs, dict(self.arguments), dict(self.connections), self.origin,
        )  # fmt: skip

    def edges(self) -> Iterator[Edge]:
        """All edges that come in: inputs first, then argument inputs in the order of their names."""
        yield from self.inputs
        for name in sorted(self.connections):
            yield self.connections[name]

    def replaced(self, **changes: Any) -> Node:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def rewired(self, moved: Callable[[Edge], Edge]) -> Node:
        """A copy with other incoming edges."""
        connections = {name: moved(edge) for name, edge in self.connections.items()}
        return self.replaced(inputs=tuple(map(moved, self.inputs)), connections=connections)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return (
            (self.id, self.op, self.device, self.inputs) == (other.id, other.op, other.device, other.inputs)
            and self.connections == other.connections
            and self._same_arguments(other)
        )

    def _same_arguments(self, other: Node) -> bool:
        """Whether the arguments mean the same, given explicitly or by default."""
        if same_values(self.arguments, other.arguments):
            return True
        from dali_lab.graph.meaning import compared_arguments

        return same_values(compared_arguments(self), compared_arguments(other))

    def __hash__(self) -> int:
        return hash((self.id, self.op, self.device, self.inputs))


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes by name in the order in which they were placed, the outputs, and the settings of the pipeline.

    Graphs are equal if they mean the same; see :mod:`dali_lab.graph.meaning`.

    Attributes
    ----------
    nodes
        Nodes by id.
    outputs
        The edges that a run returns, in order.
    pipeline
        Arguments of :class:`dali_lab.Pipeline` that travel with the graph: ``batch_size``, ``num_threads``,
        ``device_id``, ``seed``, ``prefetch_queue_depth`` and others.
    view
        Positions, notes and groups for the editor: no part of the meaning, and no part of equality. It also says which
        nodes are switched off (:mod:`dali_lab.graph.switches`), which does count.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    outputs: tuple[Edge, ...] = ()
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    view: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", MappingProxyType(dict(self.nodes)))
        object.__setattr__(self, "outputs", tuple(self.outputs))
        object.__setattr__(self, "pipeline", MappingProxyType(dict(self.pipeline)))
        object.__setattr__(self, "view", MappingProxyType(dict(self.view)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            dict(self.nodes) == dict(other.nodes)
            and self.outputs == other.outputs
            and self._same_settings(other)
            and self._same_switches(other)
        )

    def _same_switches(self, other: Graph) -> bool:
        from dali_lab.graph.switches import own_switches

        return own_switches(self) == own_switches(other)

    def _same_settings(self, other: Graph) -> bool:
        if same_values(self.pipeline, other.pipeline):
            return True
        from dali_lab.graph.meaning import meaningful_settings

        return same_values(meaningful_settings(self.pipeline), meaningful_settings(other.pipeline))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Graph], tuple[object, ...]]:
        return Graph, (dict(self.nodes), self.outputs, dict(self.pipeline), dict(self.view))

    def __getitem__(self, node: str) -> Node:
        try:
            return self.nodes[node]
        except KeyError:
            raise GraphError(f"there is no node '{node}'{nearest(node, self.nodes)}", code="node_missing") from None

    def replaced(self, **changes: Any) -> Graph:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def rewired(self, moved: Callable[[Edge], Edge]) -> Graph:
        """A copy with other edges in place of all edges."""
        nodes = {name: node.rewired(moved) for name, node in self.nodes.items()}
        return self.replaced(nodes=nodes, outputs=tuple(map(moved, self.outputs)))

    def edges(self) -> Iterator[Edge]:
        """All edges: those into nodes, then the outputs."""
        for node in self.nodes.values():
            yield from node.edges()
        yield from self.outputs

    def with_node(self, node: Node) -> Graph:
        """A copy with this node added, or put in place of the one of the same name."""
        return self.replaced(nodes={**self.nodes, node.id: node})

    def without(self, ids: Iterable[str]) -> Graph:
        """A copy without these nodes; edges to them are left unchanged."""
        gone = set(ids)
        return self.replaced(nodes={name: node for name, node in self.nodes.items() if name not in gone})

    def consumers(self) -> dict[str, list[str]]:
        """For each node, the nodes that use one of its outputs."""
        table: dict[str, list[str]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            for edge in node.edges():
                if edge.node in table and node.id not in table[edge.node]:
                    table[edge.node].append(node.id)
        return table

    def ancestors(self, targets: Iterable[str]) -> set[str]:
        """These nodes and all that they depend on."""
        seen: set[str] = set()
        stack = [target for target in targets if target in self.nodes]
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            stack.extend(edge.node for edge in self.nodes[name].edges() if edge.node in self.nodes)
        return seen

    def descendants(self, name: str) -> set[str]:
        """All nodes that depend on a node."""
        consumers = self.consumers()
        found: set[str] = set()
        stack = [name]
        while stack:
            fresh = set(consumers.get(stack.pop(), ())) - found
            found |= fresh
            stack.extend(fresh)
        return found

    def order(self) -> list[str]:
        """Node names in an order where each comes after its inputs; otherwise in the order of placement.

        Raises
        ------
        GraphError
            If the graph has a cycle; the message names its nodes in order.
        """
        result: list[str] = []
        state: dict[str, int] = {}
        for root in self.nodes:
            if root in state:
                continue
            stack: list[tuple[str, Iterator[Edge]]] = [(root, self.nodes[root].edges())]
            state[root] = 1
            while stack:
                name, edges = stack[-1]
                for edge in edges:
                    if edge.node not in self.nodes:
                        continue
                    mark = state.get(edge.node)
                    if mark == 1:
                        path = [entry[0] for entry in stack]
                        cycle = [*path[path.index(edge.node) :], edge.node]
                        raise GraphError(
                            "these nodes feed each other in a circle: " + " ← ".join(cycle),
                            node=edge.node,
                            code="circle",
                        )
                    if mark is None:
                        state[edge.node] = 1
                        stack.append((edge.node, self.nodes[edge.node].edges()))
                        break
                else:
                    stack.pop()
                    state[name] = 2
                    result.append(name)
        return result

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """A picture for notebooks, if a drawer is registered (:func:`show_graphs_with`)."""
        text = f"Graph of {len(self.nodes)} nodes: {', '.join(self.nodes)}"
        return {**(_drawers[-1](self) if _drawers else {}), "text/plain": text}

    def _repr_html_(self) -> str:
        """The same for programs that ask for HTML, such as Panel."""
        bundle = self._repr_mimebundle_()
        return bundle.get("text/html") or html.escape(bundle["text/plain"])


_drawers: list[Callable[[Graph], dict[str, str]]] = []


def require_graph(value: object) -> None:
    """Raise a :class:`TypeError` if a program gives something else than a graph, such as a pipeline."""
    if not isinstance(value, Graph):
        cure = "; give the pipeline's graph: pipe.graph" if hasattr(type(value), "graph") else ""
        raise TypeError(f"takes a graph, got {type(value).__name__}{cure}")


def show_graphs_with(drawer: Callable[[Graph], dict[str, str]]) -> None:
    """Register the drawer that notebooks use for graphs; it returns texts by MIME type."""
    _drawers[:] = [drawer]


def unique_name(wanted: str, taken: Iterable[str] | Mapping[str, Any]) -> str:
    """`wanted`, or `wanted` with the first free number appended, such as ``resize_2``."""
    names = taken if isinstance(taken, Mapping) else set(taken)
    if wanted not in names:
        return wanted
    number = 2
    while f"{wanted}_{number}" in names:
        number += 1
    return f"{wanted}_{number}"


def same_values(left: object, right: object) -> bool:
    """Equality of argument values of any kind: arrays by content, nan equal to nan, 1 and 1.0 and True different."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_values(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same_values, left, right))
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
            return False
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and left != left:
        return bool(right != right)
    return bool(left == right)
