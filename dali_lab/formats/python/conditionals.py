"""Conditions of a graph as they stand in a program: which nodes belong to which branch of which ``if``.

A graph holds a condition as nodes that cut batches in two and join them again. Here they are taken back to ``if``,
``and``, ``or`` and ``not``. Whether tracing the program gives the graph again is for the caller to check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.scopes import branch_of_scopes, node_scopes
from dali_lab.model.errors import GraphError
from dali_lab.schema.registry import find_operator

Path = tuple[tuple[Edge, int], ...]
"""Conditions around a node, outermost first, each with the branch: 0 where it holds, 1 where not."""


@dataclass(frozen=True)
class If:
    """An ``if`` with the nodes of both branches, and the nodes that join their results.

    Attributes
    ----------
    predicate
        The condition.
    true, false
        Nodes and conditions inside, in order.
    merges
        Nodes that join.
    """

    predicate: Edge
    true: tuple[Item, ...]
    false: tuple[Item, ...]
    merges: tuple[str, ...]


Item = str | If


@dataclass(frozen=True)
class Logical:
    """``left and right`` or ``left or right``."""

    word: str
    left: Edge
    right: Edge


@dataclass
class Conditions:
    """The conditions of a graph.

    Attributes
    ----------
    items
        All nodes that are written, in order.
    structured
        Whether conditions are written as ``if``, ``and``, ``or`` and ``not``, rather than as calls of operators.
    logical
        Nodes that are ``and`` or ``or``, by name.
    hidden
        Nodes that no line stands for.
    inlined
        Nodes that can only be written inside an ``and`` or ``or``.
    merges
        Nodes that join, by name, each with its ``if``.
    """

    graph: Graph
    items: tuple[Item, ...] = ()
    structured: bool = True
    logical: dict[str, Logical] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    inlined: set[str] = field(default_factory=set)
    merges: dict[str, If] = field(default_factory=dict)

    def resolved(self, edge: Edge) -> Edge:
        """The edge as the program writes it: behind what cuts batches and what checks operands."""
        while edge.node in self.hidden:
            node = self.graph.nodes[edge.node]
            edge = Edge(node.inputs[0].node, node.inputs[0].output, edge.device)
        return edge

    def written(self) -> list[str]:
        """The nodes that have lines or variables, in the order of these."""
        result: list[str] = []

        def add(items: Iterable[Item]) -> None:
            for item in items:
                if isinstance(item, If):
                    add(item.true)
                    add(item.false)
                    result.extend(item.merges)
                else:
                    result.append(item)

        add(self.items)
        return result


def is_split(node: Node) -> bool:
    """Whether the node cuts a batch by a condition."""
    return find_operator(node.op).cut_of_output(0) is not None


def is_merge(node: Node) -> bool:
    """Whether the node joins the branches of a condition."""
    return find_operator(node.op).joins_scopes


def is_not(node: Node) -> bool:
    """Whether the node is a ``not``."""
    return find_operator(node.op).syntax == "not"


def is_conditional(node: Node) -> bool:
    """Whether the node is there for a condition alone."""
    return is_split(node) or is_merge(node) or is_not(node) or _is_operand(node)


def _is_operand(node: Node) -> bool:
    return find_operator(node.op).syntax == "operand"


def conditions(graph: Graph) -> Conditions | None:
    """The conditions of a finished graph, or `None` if it has none, or none that ``if`` can say."""
    if not any(is_split(node) or is_merge(node) for node in graph.nodes.values()):
        return None
    try:
        return _Builder(graph).conditions()
    except (GraphError, _NotStructuredError):
        return None


class _NotStructuredError(Exception):
    """The nodes make no ``if``."""


class _Builder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scopes = node_scopes(graph)
        self.branches = branch_of_scopes(graph)
        self.groups = {branch: scope for scope, branch in self.branches.items()}
        self.found = Conditions(graph)
        self.order = graph.order()
        self.paths = {name: self._path(self.scopes.get(name, 0)) for name in self.order}

    def conditions(self) -> Conditions:
        nodes = self.graph.nodes
        for name in self.order:
            if is_merge(nodes[name]):
                self._find_logical(nodes[name])
        self.found.hidden |= {name for name in self.order if is_split(nodes[name])}
        if any("predicate" not in nodes[name].connections for name in self.found.hidden if is_split(nodes[name])):
            raise _NotStructuredError
        self._find_inlined()
        rest = [name for name in self.order if name not in self.found.hidden and name not in self.found.inlined]
        self.found.items = self._items(rest, ())
        return self.found

    def _path(self, scope: int) -> Path:
        result: list[tuple[Edge, int]] = []
        while scope:
            if len(result) > len(self.order):
                raise _NotStructuredError
            branch = self.branches[scope]
            result.append(branch)
            scope = self._scope_of(branch[0])
        return tuple(result[::-1])

    def _scope_of(self, edge: Edge) -> int:
        """The group of samples that an edge carries."""
        node = self.graph.nodes[edge.node]
        if is_split(node) and "predicate" in node.connections:
            return self.groups.get((bare(node.connections["predicate"]), edge.output), 0)
        return self.scopes.get(edge.node, 0)

    def _find_logical(self, merge: Node) -> None:
        """Note a join that is an ``and`` or an ``or``."""
        nodes = self.graph.nodes
        predicate = merge.connections.get("predicate")
        if predicate is None or len(merge.inputs) != 2:
            return
        left = nodes[predicate.node]
        if not _is_operand(left) or left.arguments.get("expression_side") != "left":
            return
        word = left.arguments.get("expression_name")
        kept, other = merge.inputs if word == "or" else merge.inputs[::-1]
        right, split = nodes[other.node], nodes[kept.node]
        fits = _is_operand(right) and right.arguments.get("expression_name") == word
        fits = fits and is_split(split) and bare(split.inputs[0]) == bare(predicate)
        if word in ("and", "or") and fits and kept.output == (0 if word == "or" else 1):
            self.found.logical[merge.id] = Logical(word, left.inputs[0], right.inputs[0])
            self.found.hidden |= {left.id, right.id, split.id}

    def _find_inlined(self) -> None:
        """Nodes on the right of an ``and`` or ``or`` work on some samples, so they can stand nowhere else."""
        decides = {bare(self.graph.nodes[name].connections["predicate"]) for name in self.found.logical}
        uses = Counter(edge.node for edge in self.graph.edges())
        for name in self.order:
            inside = any(predicate in decides for predicate, _ in self.paths[name])
            if inside and name not in self.found.hidden:
                if uses[name] != 1 or any(edge.node == name for edge in self.graph.outputs):
                    raise _NotStructuredError
                self.found.inlined.add(name)

    def _items(self, names: Sequence[str], path: Path) -> tuple[Item, ...]:
        """The nodes below a path as lines and conditions, each after its inputs."""
        units: dict[Edge | str, list[str]] = {}
        unit_of: dict[str, Edge | str] = {}
        for name in names:
            node = self.graph.nodes[name]
            own = self.paths[name]
            if own[: len(path)] != path:
                raise _NotStructuredError
            unit: Edge | str = name
            if len(own) > len(path):
                unit = own[len(path)][0]
            elif is_merge(node) and name not in self.found.logical:
                if "predicate" not in node.connections:
                    raise _NotStructuredError
                unit = bare(node.connections["predicate"])
            units.setdefault(unit, []).append(name)
            unit_of[name] = unit
        result: list[Item] = []
        for unit in self._sorted(units, unit_of):
            result.append(unit if isinstance(unit, str) else self._if(unit, units[unit], path))
        return tuple(result)

    def _sorted(self, units: dict[Edge | str, list[str]], unit_of: dict[str, Edge | str]) -> list[Edge | str]:
        """Units sorted so that each comes after its inputs; otherwise in the order of their first nodes."""
        result: list[Edge | str] = []
        state: dict[Edge | str, int] = {}

        def visit(unit: Edge | str) -> None:
            if state.get(unit) == 1:
                raise _NotStructuredError
            if unit in state:
                return
            state[unit] = 1
            for name in units[unit]:
                for needed in self._needs(name):
                    other = unit_of.get(needed)
                    if other is not None and other != unit:
                        visit(other)
            if isinstance(unit, Edge):
                for needed in self._behind(unit):
                    if unit_of.get(needed) is not None:
                        visit(unit_of[needed])
            state[unit] = 2
            result.append(unit)

        for unit in units:
            visit(unit)
        return result

    def _needs(self, name: str) -> list[str]:
        return [found for edge in self.graph.nodes[name].edges() for found in self._behind(edge)]

    def _behind(self, edge: Edge) -> list[str]:
        """The written nodes that an edge comes from, through those that have no lines."""
        seen: set[str] = set()
        result = []
        stack = [edge.node]
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self.found.hidden or name in self.found.inlined:
                stack.extend(each.node for each in self.graph.nodes[name].edges())
            else:
                result.append(name)
        return result

    def _if(self, predicate: Edge, names: Sequence[str], path: Path) -> If:
        true, false = (
            [n for n in names if self.paths[n][len(path) : len(path) + 1] == ((predicate, b),)] for b in (0, 1)
        )
        merges = tuple(name for name in names if self.paths[name] == path)
        if not merges or any(len(self.graph.nodes[name].inputs) != 2 for name in merges):
            raise _NotStructuredError
        found = If(
            predicate, self._items(true, (*path, (predicate, 0))), self._items(false, (*path, (predicate, 1))), merges
        )
        self.found.merges.update(dict.fromkeys(merges, found))
        return found
