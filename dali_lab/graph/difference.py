"""Changes in meaning between two graphs: nodes, wiring, arguments, outputs, settings; never positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dali_lab.graph.graph import Edge, Graph, Node, same_values
from dali_lab.graph.meaning import compared_arguments, meaningful_settings
from dali_lab.graph.switches import own_switches
from dali_lab.model.errors import GraphError
from dali_lab.model.short_text import short

Kind = Literal[
    "node added",
    "node removed",
    "operator",
    "device",
    "input",
    "argument",
    "connection",
    "switch",
    "outputs",
    "setting",
    "renamed",
]


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes
    ----------
    kind
        The kind of change.
    node
        The node, or `None` for outputs and settings.
    name
        The argument, input or setting.
    before, after
        The values, `None` where there was none.
    """

    kind: Kind
    node: str | None = None
    name: str | None = None
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        before, after = _text(self.before), _text(self.after)
        match self.kind:
            case "node added":
                return f"+ {self.node} ({after})"
            case "node removed":
                return f"- {self.node} ({before})"
            case "renamed":
                return f"~ {before} is now called {after}"
            case "outputs":
                return f"~ outputs: {before} → {after}"
        place = f"{self.node}: " if self.node is not None else ""
        label = self.kind if self.kind in ("operator", "device", "switch") else str(self.name)
        label = f"pipeline {label}" if self.kind == "setting" else label
        return f"~ {place}{label}: {before} → {after}"


_UNSET = object()
_SWITCH_WORDS: Mapping[str | None, str] = {None: "in use", "bypass": "bypassed", "disabled": "disabled"}


def difference(before: Graph, after: Graph) -> list[Change]:
    """The changes from one graph to the other, empty for graphs of the same meaning.

    A node that has another name and is otherwise the same, with the same inputs and consumers, is said to be renamed.
    """
    renamed = _renamed(before, after)
    if renamed:
        before = _with_names(before, renamed)
    changes = [Change("renamed", new, None, old, new) for old, new in renamed.items()]
    changes += [
        Change("node removed", name, None, before.nodes[name].op) for name in before.nodes if name not in after.nodes
    ]
    changes += [
        Change("node added", name, None, None, _described(node))
        for name, node in after.nodes.items()
        if name not in before.nodes
    ]
    for name, node in after.nodes.items():
        if name in before.nodes:
            changes += _node_changes(before.nodes[name], node)
    switches = own_switches(before), own_switches(after)
    for name in after.nodes:
        old, new = (_SWITCH_WORDS[found.get(name)] for found in switches)
        if old != new and (name in before.nodes or name in switches[1]):
            changes.append(Change("switch", name, None, old, new))
    if before.outputs != after.outputs:
        changes.append(Change("outputs", None, None, before.outputs, after.outputs))
    changes += _mapping_changes("setting", None, *map(meaningful_settings, (before.pipeline, after.pipeline)))
    return changes


def _node_changes(before: Node, after: Node) -> Iterator[Change]:
    if before.op != after.op:
        yield Change("operator", after.id, None, before.op, after.op)
    if before.device != after.device:
        yield Change("device", after.id, None, before.device, after.device)
    for index in range(max(len(before.inputs), len(after.inputs))):
        old = before.inputs[index] if index < len(before.inputs) else None
        new = after.inputs[index] if index < len(after.inputs) else None
        if old != new:
            yield Change("input", after.id, f"input {index}", old, new)
    if not same_values(before.arguments, after.arguments):
        yield from _mapping_changes("argument", after.id, *map(compared_arguments, (before, after)))
    yield from _mapping_changes("connection", after.id, before.connections, after.connections)


def _mapping_changes(
    kind: Kind, node: str | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Change]:
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name, _UNSET), after.get(name, _UNSET)
        if not same_values(old, new):
            yield Change(kind, node, name, None if old is _UNSET else old, None if new is _UNSET else new)


def _renamed(before: Graph, after: Graph) -> dict[str, str]:
    """Nodes that were only renamed, by their old name: operator, arguments and inputs are the same."""
    new: dict[Any, list[Node]] = {}
    for name, node in after.nodes.items():
        if name not in before.nodes:
            new.setdefault(_wiring(node, {}), []).append(node)
    found: dict[str, str] = {}
    for name in _order(before) if new else ():
        node = before.nodes[name]
        if name in after.nodes:
            continue
        alike = new.get(_wiring(node, found), [])
        for other in alike:
            if node._same_arguments(other):
                found[name] = other.id
                alike.remove(other)
                break
    return found


def _order(graph: Graph) -> list[str]:
    try:
        return graph.order()
    except GraphError:
        return list(graph.nodes)


def _wiring(node: Node, names: Mapping[str, str]) -> Any:
    """Operator and inputs of a node without its arguments; `names` renames the nodes it reads from."""

    now = node.rewired(partial(_now, names))
    return node.op, node.device, now.inputs, frozenset(now.connections.items())


def _now(names: Mapping[str, str], edge: Edge) -> Edge:
    return edge._replace(node=names.get(edge.node, edge.node))


def _with_names(graph: Graph, names: Mapping[str, str]) -> Graph:
    rewired = graph.rewired(partial(_now, names))
    renamed = [node.replaced(id=names.get(name, name)) for name, node in rewired.nodes.items()]
    places = {names.get(name, name): {switch: True} for name, switch in own_switches(graph).items()}
    return rewired.replaced(nodes={node.id: node for node in renamed}, view={"nodes": places})


def _described(node: Node) -> str:
    inputs = ", ".join(_text(edge) for edge in node.inputs)
    return f"{node.op} of {inputs}" if inputs else node.op


def _text(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, Edge):
        return str(value) if value.node else "nothing"
    if isinstance(value, tuple) and value and all(isinstance(item, Edge) for item in value):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else short(value)
