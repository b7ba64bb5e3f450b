"""Graph documents as an editor holds them: raw JSON that may be unfinished, and the graph that can run.

Documents are immutable by convention: a reader may keep one while others edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from dali_lab.formats import subgraphs
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.json.graph_file import FORMAT, VERSION
from dali_lab.formats.paths import changed
from dali_lab.formats.values import encode
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.switches import Switched, Wires, switches
from dali_lab.model.errors import FormatError, GraphError
from dali_lab.model.references import PythonReference
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.protocol.documents import Document, GraphNode
from dali_lab.studio.protocol.values import MOST_LEVELS, EdgeRef, too_deep

_LONGEST_NAME = 1000
"""Letters of the longest name that a node may have."""


def empty_document() -> Document:
    """A document without nodes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "pipeline": {"batch_size": 8, "num_threads": 2, "device_id": None, "seed": 42, "prefetch_queue_depth": 2},
        "nodes": {},
        "outputs": [],
        "view": {"nodes": {}, "notes": [], "groups": []},
    }


def checked(data: object) -> Document:
    """`data` as a document, with defaults filled in; unknown keys stay.

    Raises
    ------
    DocumentError
        If it is no graph, or one from a newer version.
    """
    if not isinstance(data, dict):
        raise DocumentError("This file holds no graph: it should be a JSON object.", "unreadable")
    if too_deep(data):
        raise DocumentError(f"There are over {MOST_LEVELS} lists and objects in each other here.", "unreadable")
    if data.get("format", FORMAT) != FORMAT:
        raise DocumentError(f"This file says that it is a {data['format']!r}, not a {FORMAT!r}.", "unreadable")
    version = data.get("version", VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DocumentError(f"This file's version is {version!r}; it should be a whole number.", "unreadable")
    if version > VERSION:
        raise DocumentError(
            f"This file is of version {version}; this DALI Lab reads up to {VERSION}. Update DALI Lab to open it.",
            "newer_version",
        )
    if not isinstance(data.get("nodes"), dict):
        raise DocumentError("This file holds no graph: it has no 'nodes'.", "unreadable")
    for name, node in data["nodes"].items():
        check_node(name, node)
    empty = empty_document()
    pipeline = data.get("pipeline", empty["pipeline"])
    outputs = data.get("outputs", [])
    view = data.get("view", {})
    if not isinstance(pipeline, dict) or not isinstance(view, dict):
        raise DocumentError("'pipeline' and 'view' should be objects.", "unreadable")
    check_outputs(outputs)
    positions = view.get("nodes", {})
    if not isinstance(positions, dict) or not all(isinstance(entry, dict) for entry in positions.values()):
        raise DocumentError("'view.nodes' should hold an object for each node.", "unreadable")
    for part in ("notes", "groups"):
        if not isinstance(view.get(part, []), list):
            raise DocumentError(f"'view.{part}' should be a list.", "unreadable")
    check_subgraphs(data)
    return {
        **empty,
        **data,
        "version": VERSION,
        "pipeline": dict(pipeline),
        "outputs": list(outputs),
        "view": {**empty["view"], **view},
    }


def check_node(name: object, node: object) -> None:
    """Raise if this cannot be a node of a document."""
    if isinstance(name, str) and len(name) > _LONGEST_NAME:
        raise DocumentError(f"A node's name has {len(name):,} letters; {_LONGEST_NAME:,} are the most.", "unreadable")
    if not isinstance(name, str) or not name.strip() or ":" in name or any(ord(letter) < 32 for letter in name):
        raise DocumentError(
            f"{name!r} cannot be a node's name: it is empty, or has a colon or control characters.", "unreadable"
        )
    if not isinstance(node, dict) or not isinstance(node.get("op"), str):
        raise DocumentError(f"The node '{name}' names no operator.", "unreadable")
    shapes = {"inputs": list, "arguments": dict, "connections": dict}
    for part, kind in shapes.items():
        if not isinstance(node.get(part, kind()), kind):
            raise DocumentError(
                f"'{part}' of the node '{name}' should be {'a list' if kind is list else 'an object'}.", "unreadable"
            )
    edges = [*node.get("inputs", ()), *node.get("connections", {}).values()]
    if not all(edge is None or isinstance(edge, str) for edge in edges):
        raise DocumentError(f"An edge of the node '{name}' is not written as 'node' or 'node:1'.", "unreadable")


def check_subgraphs(document: Mapping[str, object]) -> None:
    """Raise if the definitions of sub-graphs cannot be part of a document."""
    try:
        subgraphs.check(document)
    except FormatError as error:
        raise DocumentError(sentence(error.message), "unreadable") from error


def check_outputs(outputs: object) -> None:
    """Raise if these cannot be the outputs of a document."""
    if not isinstance(outputs, list) or not all(isinstance(edge, str) for edge in outputs):
        raise DocumentError("'outputs' should be a list of edges such as 'resize' or 'reader:1'.", "unreadable")


def parsed(text: str | bytes) -> Document:
    """The document in a JSON text.

    Raises
    ------
    DocumentError
        If the text ends too early, is no JSON, holds no graph, or comes from a newer version.
    """
    try:
        return checked(json_file.parse(text))
    except FormatError as error:
        code = error.code if error.code == "newer_version" else "unreadable"
        raise DocumentError(sentence(error.message), code) from error


def of_graph(graph: Graph) -> Document:
    """A graph as a document."""
    return cast(Document, json_file.to_document(graph))


def written(document: Mapping[str, object]) -> str:
    """The text of a document, as it is saved."""
    return json_file.format_document(document)


def with_paths(document: Document, change: Callable[[str], str]) -> Document:
    """The document with `change` made to the paths in arguments; the same object where nothing changes."""
    return cast(
        Document,
        subgraphs.with_arguments(
            cast(dict[str, object], document), lambda op, arguments: changed(op, arguments, change)
        ),
    )


def without_off(document: Document) -> tuple[Document, Switched]:
    """The document without nodes that are off or bypassed, and the effect of its switches."""
    nodes = document["nodes"]
    found = switches(document["view"])
    wires = {name: _wires(node) for name, node in nodes.items()} if found else {}
    switched = Switched(wires, found)
    if not switched:
        return document, switched

    def resolved(reference: str | None) -> str | None:
        edge = None if reference is None else edge_of(reference)
        now = None if edge is None else switched.resolved(edge)
        return reference if now is None or now == edge else json_file.edge_text(now)

    kept: dict[str, GraphNode] = {
        name: {
            **node,
            "inputs": [resolved(reference) for reference in node.get("inputs", ())],
            "connections": {
                key: cast(EdgeRef, resolved(reference)) for key, reference in node.get("connections", {}).items()
            },
        }
        for name, node in nodes.items()
        if switched.keeps(name)
    }
    on = [resolved(reference) for reference in document["outputs"] if switched.cause(edge_of(reference)) is None]
    outputs = [reference for reference in on if reference is not None]
    return {**document, "nodes": kept, "outputs": outputs}, switched


def _wires(node: GraphNode) -> Wires:
    """The edges that a node of a document takes."""

    def edge(reference: str | None) -> Edge | None:
        return None if reference is None else edge_of(reference)

    connections = {key: edge(reference) for key, reference in node.get("connections", {}).items()}
    return Wires([edge(reference) for reference in node.get("inputs", ())], connections)


def edge_of(reference: str) -> Edge:
    """The edge that a text names; a text that names none is a node that does not exist."""
    try:
        return Edge.parse(reference)
    except GraphError:
        return Edge(reference)


@dataclass
class Draft:
    """The runnable part of an unfinished document.

    Attributes
    ----------
    graph
        All its nodes whose inputs are complete.
    unfinished
        For the other nodes, the first missing input or argument: ``(message, input index)``.
    switched
        The effect of the switches of its nodes; the graph has no nodes that are off.
    instances
        The nodes of the document that are sub-graphs, with the nodes of the graph that stand for them.
    """

    graph: Graph
    unfinished: dict[str, tuple[str, int | None]]
    switched: Switched
    instances: Mapping[str, subgraphs.Instance] = field(default_factory=dict)


def live_objects(graph: Graph) -> dict[str, object]:
    """Python objects among a graph's arguments, by their names in the document, which cannot hold the objects."""
    found = {}
    for node in graph.nodes.values():
        for value in node.arguments.values():
            raw = encode(value)
            if isinstance(raw, dict) and "$python" in raw and not isinstance(value, PythonReference):
                found[repr(PythonReference(raw["$python"], raw.get("text", "")))] = value
    return found


def _with_objects(node: Node, objects: Mapping[str, object]) -> Node:
    """The node with references to known objects replaced by the objects."""
    named = {
        key: objects[repr(value)]
        for key, value in node.arguments.items()
        if isinstance(value, PythonReference) and repr(value) in objects
    }
    return node.replaced(arguments={**node.arguments, **named}) if named else node


def draft(document: Document, objects: Mapping[str, object] | None = None) -> Draft:
    """The graph in a document that may be unfinished; never fails on what a person can draw.

    Parameters
    ----------
    document
        A document.
    objects
        Python objects that it names, as :func:`live_objects` gives them.
    """
    flat, instances = _expanded(document)
    effective, switched = without_off(flat)
    nodes: dict[str, Node] = {}
    unfinished: dict[str, tuple[str, int | None]] = {}
    for name, entry in effective["nodes"].items():
        single = {**effective, "nodes": {name: _connected_first(entry)}, "outputs": [], "view": {}}
        try:
            node = _with_objects(json_file.from_document(single).nodes[name], objects or {})
        except FormatError as error:
            unfinished[name] = (sentence(error.message), None)
            continue
        lack = _lack(node)
        if lack is None:
            nodes[name] = node
        else:
            unfinished[name] = lack
    outputs = [edge for edge in map(edge_of, effective["outputs"]) if edge.node in nodes]
    settings = {key: value for key, value in effective["pipeline"].items() if not isinstance(value, dict)}
    view: dict[str, object] = {**effective["view"]}
    if instances:
        view[subgraphs.FOLDED] = {key: value for key, value in document.items() if key in subgraphs.PARTS}
    return Draft(Graph(nodes, tuple(outputs), settings, view), unfinished, switched, instances)


def _expanded(document: Document) -> tuple[Document, Mapping[str, subgraphs.Instance]]:
    if not document.get("subgraphs"):
        return document, {}
    flat, instances = subgraphs.expanded(cast(dict[str, object], document))
    return cast(Document, flat), instances


def whole(document: Document, objects: Mapping[str, object] | None = None) -> Graph:
    """The graph of a document with nodes that are switched off in it, as a pipeline keeps it.

    Raises
    ------
    FormatError
        If a node cannot be read.
    """
    nodes = {name: _connected_first(entry) for name, entry in document["nodes"].items()}
    graph = json_file.from_document({**document, "nodes": nodes})
    return graph.replaced(nodes={name: _with_objects(node, objects or {}) for name, node in graph.nodes.items()})


def _connected_first(entry: GraphNode) -> GraphNode:
    """The entry without the constants that connected nodes stand in for: meanwhile they mean nothing."""
    connections = entry.get("connections") or {}
    arguments = entry.get("arguments") or {}
    if not connections.keys() & arguments.keys():
        return entry
    return {**entry, "arguments": {key: value for key, value in arguments.items() if key not in connections}}


def _lack(node: Node) -> tuple[str, int | None] | None:
    """The first missing input or argument of a node, as a message with the index of the input."""
    declared = find_operator(node.op).inputs if has_operator(node.op) else ()
    for index, entry in enumerate(declared):
        missing = index >= len(node.inputs) or node.inputs[index] == json_file.UNCONNECTED
        if missing and (not entry.optional or index < len(node.inputs)):
            return f"Connect {entry.name}.", index
    for index, edge in enumerate(node.inputs):
        if edge == json_file.UNCONNECTED:
            return f"Input {index} is not connected.", index
    return None
