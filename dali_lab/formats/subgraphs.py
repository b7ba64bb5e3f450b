"""Sub-graphs of a document: definitions by name, and nodes that are instances of them.

A definition has ``inputs`` (names that its nodes refer to as they do to nodes), ``arguments`` (each with the arguments
of nodes inside that it sets), ``nodes``, ``outputs`` and a ``view``. A node with the operator ``subgraph.NAME`` is an
instance. Expansion, a pure function of documents, puts the nodes of the definition in its place, named
``INSTANCE/NODE``; nothing beyond it knows of sub-graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dali_lab.graph.graph import Edge
from dali_lab.model.errors import FormatError, GraphError

PREFIX = "subgraph."
"""An operator that begins with it is a sub-graph of the document."""
FOLDED = "$folded"
"""In the view of a graph: the parts below, as its file has them."""
PARTS = ("nodes", "outputs", "subgraphs")
MOST_NODES = 100_000
"""Most nodes that a document may have after expansion: definitions in definitions grow fast."""
MOST_LEVELS = 64
"""Most definitions in each other."""

Document = dict[str, Any]
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Instance:
    """The nodes that stand for an instance.

    Attributes
    ----------
    members
        Their names.
    outputs
        The edge behind each output, `None` where nothing is connected inside.
    parameters
        The argument of the instance that sets an argument of a member, by member and argument.
    unconnected
        The inputs that are not connected, by index, with their names.
    """

    members: tuple[str, ...] = ()
    outputs: tuple[str | None, ...] = ()
    parameters: Mapping[tuple[str, str], str] = field(default_factory=dict)
    unconnected: Mapping[int, str] = field(default_factory=dict)


def definition_of(document: Entry, op: object) -> tuple[str, Entry] | None:
    """The name and the definition that an operator stands for, if it is a sub-graph of the document."""
    name = op[len(PREFIX) :] if isinstance(op, str) and op.startswith(PREFIX) else ""
    found = (document.get("subgraphs") or {}).get(name)
    return (name, found) if found is not None else None


def check(document: Entry) -> None:
    """Refuse definitions that cannot be expanded, and more nodes than a document may have.

    Raises
    ------
    FormatError
        If a definition is not of the form above, contains itself or too many others, or there are too many nodes.
    """
    definitions = document.get("subgraphs")
    if definitions is None:
        definitions = {}
    if not isinstance(definitions, dict):
        raise FormatError("'subgraphs' must be an object")
    for name, definition in definitions.items():
        _check_definition(name, definition)
    sizes: dict[str, int] = {}
    for name in definitions:
        _size(definitions, name, sizes, ())
    if _grown(document.get("nodes") or {}, sizes) > MOST_NODES:
        how = "with its sub-graphs expanded, " if definitions else ""
        raise FormatError(f"{how}the graph has more than {MOST_NODES:,} nodes")


def _check_definition(name: str, definition: object) -> None:
    where = f"sub-graph '{name}'"
    if not name or not isinstance(definition, dict):
        raise FormatError(f"{where} must be an object, with a name")
    inputs, nodes, outputs = (definition.get(key, kind()) for key, kind in _PARTS.items())
    if not isinstance(inputs, list) or not all(isinstance(each, str) and each for each in inputs):
        raise FormatError(f"{where}: 'inputs' must be a list of names")
    if not isinstance(nodes, dict) or not all(isinstance(node, dict) for node in nodes.values()):
        raise FormatError(f"{where}: 'nodes' must hold an object for each node")
    if twice := [each for index, each in enumerate(inputs) if each in nodes or each in inputs[:index]]:
        raise FormatError(f"{where}: the name '{twice[0]}' is used twice")
    if not isinstance(outputs, list) or not all(isinstance(each, str) for each in outputs):
        raise FormatError(f"{where}: 'outputs' must be a list of edges such as 'resize' or 'resize:1'")
    for each, node in nodes.items():
        parts = [node.get(key, kind()) for key, kind in _NODE_PARTS.items()]
        if not isinstance(node.get("op"), str) or any(
            not isinstance(part, kind) for part, kind in zip(parts, _NODE_PARTS.values(), strict=True)
        ):
            raise FormatError(f"{where}: the node '{each}' is not written as a node")
        if not all(edge is None or isinstance(edge, str) for edge in (*parts[0], *parts[2].values())):
            raise FormatError(f"{where}: an edge of the node '{each}' is not written as 'node' or 'node:1'")
    arguments = definition.get("arguments", {})
    if not isinstance(arguments, dict):
        raise FormatError(f"{where}: 'arguments' must be an object")
    for argument, targets in arguments.items():
        known = isinstance(targets, list) and all(
            isinstance(target, dict) and target.get("node") in nodes and isinstance(target.get("argument"), str)
            for target in targets
        )
        if not known:
            raise FormatError(f"{where}: the argument '{argument}' must list arguments of its nodes")


_PARTS: dict[str, type] = {"inputs": list, "nodes": dict, "outputs": list}
_NODE_PARTS: dict[str, type] = {"inputs": list, "arguments": dict, "connections": dict}


def _size(definitions: Mapping[str, Entry], name: str, sizes: dict[str, int], inside: tuple[str, ...]) -> int:
    """The nodes that one instance of a definition becomes."""
    if name in inside:
        path = " → ".join([*inside[inside.index(name) :], name])
        raise FormatError(f"the sub-graph '{name}' contains itself: {path}")
    if len(inside) >= MOST_LEVELS:
        raise FormatError(f"over {MOST_LEVELS} sub-graphs contain each other, such as '{name}'")
    if name not in sizes:
        nodes = definitions[name].get("nodes", {})
        for node in nodes.values():
            if (found := definition_of({"subgraphs": definitions}, node["op"])) is not None:
                _size(definitions, found[0], sizes, (*inside, name))
        sizes[name] = min(_grown(nodes, sizes), MOST_NODES + 1)
    return sizes[name]


def _grown(nodes: Entry, sizes: Mapping[str, int]) -> int:
    ops = (node.get("op") if isinstance(node, Mapping) else None for node in nodes.values())
    return sum(sizes.get(op[len(PREFIX) :], 1) if isinstance(op, str) and op.startswith(PREFIX) else 1 for op in ops)


def expanded(document: Document) -> tuple[Document, dict[str, Instance]]:
    """The document without sub-graphs, and its instances by name; the same document where it has none.

    Raises
    ------
    FormatError
        As in :func:`check`.
    """
    check(document)
    instances: dict[str, Instance] = {}
    while any(definition_of(document, _op(node)) is not None for node in document["nodes"].values()):
        document, found = _expanded_once(document)
        inside = {member for instance in instances.values() for member in instance.members}
        # Members that were instances themselves are now the nodes that stand for these.
        for name, instance in instances.items():
            instances[name] = _through(instance, found)
        instances.update({name: instance for name, instance in found.items() if name not in inside})
    return {key: value for key, value in document.items() if key != "subgraphs"}, instances


def _op(node: object) -> object:
    return node.get("op") if isinstance(node, Mapping) else None


def _through(instance: Instance, found: Mapping[str, Instance]) -> Instance:
    """An instance after some of its members were expanded in turn."""
    members: list[str] = []
    parameters: dict[tuple[str, str], str] = {}
    for member in instance.members:
        members += found[member].members if member in found else [member]
    for (member, argument), parameter in instance.parameters.items():
        if member not in found:
            parameters[member, argument] = parameter
            continue
        inner = found[member].parameters
        parameters.update({place: parameter for place, name in inner.items() if name == argument})
    outputs = tuple(_moved(edge, {name: each.outputs for name, each in found.items()}) for edge in instance.outputs)
    return Instance(tuple(members), outputs, parameters, instance.unconnected)


def _moved(edge: str | None, outputs: Mapping[str, Sequence[str | None]]) -> str | None:
    """An edge after instances became their members."""
    at = None if edge is None else _edge(edge)
    if edge is None or at is None or at.node not in outputs:
        return edge
    given = outputs[at.node]
    found = given[at.output] if at.output < len(given) else None
    return f"{found}@{at.device}" if found is not None and at.device else found


def _edge(text: str) -> Edge | None:
    try:
        return Edge.parse(text)
    except GraphError:
        return None


def _expanded_once(document: Document) -> tuple[Document, dict[str, Instance]]:
    """The document with the instances that it names itself expanded; those inside of them are left."""
    view = dict(document.get("view") or {})
    places = dict(view.get("nodes") or {})
    taken = dict.fromkeys(document["nodes"])
    nodes: dict[str, Any] = {}
    found: dict[str, Instance] = {}
    passed: dict[str, list[str | None]] = {}
    for name, entry in document["nodes"].items():
        definition = definition_of(document, _op(entry))
        if definition is None:
            nodes[name] = entry
            continue
        members = _members(name, definition[1], entry, taken)
        nodes.update({each: node for each, node, _ in members.values()})
        place = places.get(name)
        switched = place if isinstance(place, Mapping) else {}
        given = _outputs(name, definition[1], members, entry)
        off = bool(switched.get("disabled") or switched.get("bypass"))
        if switched.get("bypass") and not switched.get("disabled"):
            first = next(iter(entry.get("inputs") or ()), None)
            passed[name] = [first if first is not None else given[0], *given[1:]] if given else []
        for inner, (each, _, _) in members.items():
            inside = ((definition[1].get("view") or {}).get("nodes") or {}).get(inner)
            switches = {key: True for key in ("bypass", "disabled") if isinstance(inside, Mapping) and inside.get(key)}
            if off:
                switches = {"disabled": True}
            if switches:
                places[each] = switches
        parameters = {
            (members[target["node"]][0], target["argument"]): argument
            for argument, targets in (definition[1].get("arguments") or {}).items()
            for target in targets
        }
        edges = enumerate(_given(definition[1], entry).items())
        unconnected = {index: each for index, (each, edge) in edges if edge is None}
        found[name] = Instance(tuple(each for each, _, _ in members.values()), tuple(given), parameters, unconnected)
    outputs = {name: passed.get(name, list(instance.outputs)) for name, instance in found.items()}
    if passed:
        outputs = {name: [_followed(edge, outputs) for edge in given] for name, given in outputs.items()}
    moved = {name: _rewired(node, lambda edge: _followed(edge, outputs)) for name, node in nodes.items()}
    ends = [
        _followed(edge, outputs) or edge if isinstance(edge, str) else edge for edge in document.get("outputs") or ()
    ]
    if places:
        view["nodes"] = places
    return {**document, "nodes": moved, "outputs": ends, **({"view": view} if view else {})}, found


def _followed(edge: str | None, outputs: Mapping[str, Sequence[str | None]]) -> str | None:
    """An edge through instances that hand on what they are given."""
    seen: set[str] = set()
    while edge is not None and edge not in seen:
        seen.add(edge)
        edge = _moved(edge, outputs)
    return edge


_Members = dict[str, tuple[str, dict[str, Any], Entry]]


def _members(name: str, definition: Entry, entry: Entry, taken: dict[str, None]) -> _Members:
    """The nodes of an instance by their names inside, each with its name outside and its entry."""
    inside = definition.get("nodes") or {}
    names: dict[str, str] = {}
    for inner in inside:
        wanted, number = f"{name}/{inner}", 2
        while wanted in taken:
            wanted, number = f"{name}/{inner}_{number}", number + 1
        taken[wanted] = None
        names[inner] = wanted
    given = _given(definition, entry)

    def moved(edge: str | None) -> str | None:
        return _inside_out(edge, name, names, given)

    constants, connections = entry.get("arguments") or {}, entry.get("connections") or {}
    members: _Members = {}
    for inner, node in inside.items():
        members[inner] = names[inner], _rewired(node, moved), node
    for argument, targets in (definition.get("arguments") or {}).items():
        for target in targets:
            node = members[target["node"]][1]
            own, key = dict(node.get("arguments") or {}), target["argument"]
            connected = dict(node.get("connections") or {})
            if connections.get(argument) is not None:
                own.pop(key, None)
                connected[key] = connections[argument]
            elif constants.get(argument) is not None:
                own[key] = constants[argument]
                connected.pop(key, None)
            node.update({"arguments": own, "connections": connected})
    return members


def _given(definition: Entry, entry: Entry) -> dict[str, str | None]:
    """The edges that the inputs of a definition stand for in an instance."""
    inputs = list(entry.get("inputs") or ())
    names = definition.get("inputs") or ()
    return {name: inputs[index] if index < len(inputs) else None for index, name in enumerate(names)}


def _inside_out(edge: str | None, name: str, names: Mapping[str, str], given: Mapping[str, str | None]) -> str | None:
    """An edge inside of an instance as one outside; one that leads nowhere inside leads nowhere outside."""
    at = None if edge is None else _edge(edge)
    if edge is None or at is None:
        return edge
    if at.node in given:
        return given[at.node]
    return _written(Edge(names.get(at.node, f"{name}/{at.node}"), at.output, at.device))


def _written(edge: Edge) -> str:
    text = str(edge)
    return text if _edge(text) == edge else f"{edge.node}:{edge.output}" + (f"@{edge.device}" if edge.device else "")


def _outputs(name: str, definition: Entry, members: _Members, entry: Entry) -> list[str | None]:
    names = {inner: each for inner, (each, _, _) in members.items()}
    given = _given(definition, entry)
    return [_inside_out(edge, name, names, given) for edge in definition.get("outputs") or ()]


def _rewired(node: Any, moved: Callable[[str | None], str | None]) -> Any:
    """A node with other edges; constants that a connection stands in for are left out."""
    if not isinstance(node, Mapping):
        return node
    result = dict(node)
    if isinstance(node.get("inputs"), list):
        result["inputs"] = [moved(edge) for edge in node["inputs"]]
    if isinstance(node.get("connections"), Mapping):
        result["connections"] = {key: moved(edge) for key, edge in node["connections"].items()}
    return result


def with_arguments(document: Document, changed: Callable[[str, Entry], Entry]) -> Document:
    """The document with `changed(operator, arguments)` made to all nodes, in definitions too.

    An argument of an instance is changed as the first argument inside that it sets.
    """

    def node(entry: Any) -> Any:
        before = entry.get("arguments") if isinstance(entry, Mapping) else None
        if not before:
            return entry
        found = definition_of(document, entry["op"])
        after = changed(entry["op"], before) if found is None else of_instance(found[1], before)
        return entry if after is before else {**entry, "arguments": dict(after)}

    def of_instance(definition: Entry, before: Entry) -> Entry:
        after = dict(before)
        for argument, value in before.items():
            for target in ((definition.get("arguments") or {}).get(argument) or ())[:1]:
                inner = definition["nodes"][target["node"]]["op"]
                after[argument] = changed(inner, {target["argument"]: value})[target["argument"]]
        return after if after != before else before

    def nodes(entries: Entry) -> dict[str, Any]:
        return {name: node(entry) for name, entry in entries.items()}

    result = {**document, "nodes": nodes(document["nodes"])}
    if document.get("subgraphs"):
        result["subgraphs"] = {
            name: {**definition, "nodes": nodes(definition.get("nodes") or {})}
            for name, definition in document["subgraphs"].items()
        }
    return document if result == document else result


def with_values(folded: Document, node: str, values: Entry) -> Document:
    """A graph's parts with other arguments of a node, which may stand inside of an instance.

    An argument that the instance does not offer is left as it is.
    """
    _, instances = expanded(folded)
    for name, instance in instances.items():
        if node in instance.members:
            inner = {argument: each for (member, argument), each in instance.parameters.items() if member == node}
            node, values = name, {inner[key]: value for key, value in values.items() if key in inner}
    entry = folded["nodes"].get(node)
    if entry is None or not values:
        return folded
    connections = {key: edge for key, edge in (entry.get("connections") or {}).items() if key not in values}
    changed = {**entry, "arguments": {**(entry.get("arguments") or {}), **values}, "connections": connections}
    return {**folded, "nodes": {**folded["nodes"], node: changed}}
