"""The project's own file, ``.dali.json``: a graph as JSON that keeps everything and makes diffs that read well.

The layout is that of the document in ``extension/PROTOCOL.md``; ``graph.schema.json`` beside this file is its schema.
Reading a file never runs code: Python objects in it come back as :class:`~dali_lab.model.references.PythonReference`.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.formats.disk import PathLike, read_bytes
from dali_lab.formats.paths import resolved
from dali_lab.formats.values import decode, encode
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.errors import FormatError, GraphError
from dali_lab.schema.arguments import Arg
from dali_lab.schema.registry import find_operator, has_operator

FORMAT = "dali-lab/graph"
VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("graph.schema.json")
UNCONNECTED = Edge("")
"""Stands where an input is not connected yet."""

Document = dict[str, Any]

_REST = "$rest"
_TOP = ("format", "version", "pipeline", "nodes", "outputs", "subgraphs", "view")
_NODE = ("op", "device", "inputs", "arguments", "connections")
_WIDTH = 110


def load(path: PathLike) -> Graph:
    """Read a graph from a file; paths that start at the file's folder become absolute.

    Raises
    ------
    FormatError
        If it is truncated, no JSON, no graph, or from a newer version.
    """
    try:
        return resolved(loads(read_bytes(path)), path)
    except FormatError as error:
        error.source = error.source or os.fspath(path)
        raise


def loads(text: str | bytes) -> Graph:
    """Read a graph from the text of a file.

    Raises
    ------
    FormatError
        As in :func:`load`.
    """
    return from_document(parse(text))


def parse(text: str | bytes) -> Document:
    """The document in a text, brought to the present version; its parts are not looked at.

    Raises
    ------
    FormatError
        If it is truncated, no JSON, or not a document of ours.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        document = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise FormatError("this is not UTF-8 text, so it is not a graph file") from error
    except json.JSONDecodeError as error:
        if not text.strip():
            raise FormatError("the file is empty") from error
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise FormatError(f"the file ends too early, at line {error.lineno}: it was cut off") from error
        raise FormatError(f"this is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise FormatError("this is nested too deeply to be a graph file") from error
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"this is not JSON that can be read: {error}") from error
    return migrate(document)


def _no_constant(word: str) -> None:
    raise FormatError(f'this is not JSON: it has no number {word}; the text "nan", "inf" or "-inf" stands for it')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f"the key {twice!r} stands twice in one object")
    return result


def _from_version_0(document: Document) -> Document:
    """Version 0 kept nodes as a list, with the name in ``id``, and settings at the top."""
    nodes = {}
    for node in _list(document.get("nodes", []), "nodes"):
        entry = dict(_mapping(node, "a node"))
        nodes[_text(entry.pop("id", None), "a node's id")] = entry
    settings = {key: document[key] for key in ("batch_size", "num_threads", "device_id", "seed") if key in document}
    rest = {key: value for key, value in document.items() if key not in settings}
    return {**rest, "version": 1, "pipeline": settings, "nodes": nodes}


MIGRATIONS: list[Callable[[Document], Document]] = [_from_version_0]
"""Entry `n` makes a document of version `n + 1` out of one of version `n`."""


def migrate(document: object) -> Document:
    """Bring a document to the present version.

    Raises
    ------
    FormatError
        If it is no document of ours, or from a newer version.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = f"; its format is {document['format']!r}" if isinstance(document, dict) and "format" in document else ""
        raise FormatError(f'this is not a DALI Lab graph: it lacks "format": "{FORMAT}"{found}')
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise FormatError(f"the version of the file is {version!r}, and not a number")
    if version > VERSION:
        shown = version if version.bit_length() < 64 else "too large a number"
        raise FormatError(
            f"the file has version {shown}, and this DALI Lab reads versions up to {VERSION}: a newer one is needed",
            code="newer_version",
        )
    current: Document = document
    for step in MIGRATIONS[version:]:
        current = step(current)
    return current


def from_document(document: object) -> Graph:
    """The graph of a document; unfinished graphs, unknown operators, arguments and keys are kept as they are.

    An input that is ``null`` becomes :data:`UNCONNECTED`. Sub-graphs are expanded, and :func:`to_document` writes them
    as sub-graphs again.

    Raises
    ------
    FormatError
        If a part is not of the kind that belongs there.
    """
    document = migrate(document)
    folded: Document = {}
    _mapping(document.get("nodes", {}), "nodes")
    subgraphs.check(document)
    if document.get("subgraphs") is not None:
        folded = {key: document[key] for key in subgraphs.PARTS if key in document}
        document, _ = subgraphs.expanded({"nodes": {}, "outputs": [], **document})
    nodes: dict[str, Node] = {}
    rest_of_nodes = {}
    for name, entry in _mapping(document.get("nodes", {}), "nodes").items():
        if not name:
            raise FormatError("a node has an empty name")
        nodes[name] = _node(name, _mapping(entry, f"node '{name}'"))
        if extra := {key: value for key, value in entry.items() if key not in _NODE}:
            rest_of_nodes[name] = extra
    view = dict(_mapping(document.get("view", {}), "view"))
    if folded:
        view[subgraphs.FOLDED] = folded
    rest = {
        "document": {key: value for key, value in document.items() if key not in _TOP},
        "nodes": rest_of_nodes,
    }
    if any(rest.values()):
        view[_REST] = {key: value for key, value in rest.items() if value}
    settings = _mapping(document.get("pipeline", {}), "pipeline")
    return Graph(
        nodes,
        tuple(_edge(item, "outputs") for item in _list(document.get("outputs", []), "outputs")),
        {key: _value(value, None, f"pipeline.{key}") for key, value in settings.items()},
        view,
    )


def _node(name: str, entry: Mapping[str, Any]) -> Node:
    where = f"node '{name}'"
    op = _text(entry.get("op"), f"{where}: op")
    table = _arguments_of(op)
    inputs = [_edge(item, f"{where}: inputs") for item in _list(entry.get("inputs", []), f"{where}: inputs")]
    while inputs and inputs[-1] == UNCONNECTED:
        inputs.pop()
    arguments = _mapping(entry.get("arguments", {}), f"{where}: arguments")
    connections = _mapping(entry.get("connections", {}), f"{where}: connections")
    return Node(
        name,
        op,
        _text(entry.get("device", "cpu"), f"{where}: device"),
        tuple(inputs),
        {
            key: _value(value, table.get(key), f"{where}, argument '{key}'")
            for key, value in arguments.items()
            if value is not None or key not in table
        },
        {key: _edge(value, f"{where}: connections") for key, value in connections.items() if value is not None},
    )


def _arguments_of(op: str) -> Mapping[str, Arg]:
    return find_operator(op).argument_table if has_operator(op) else {}


def _value(raw: object, arg: Arg | None, where: str) -> Any:
    try:
        return decode(raw, arg)
    except FormatError as error:
        raise FormatError(f"{where}: {error.message}") from error


def _edge(raw: Any, where: str) -> Edge:
    if raw is None:
        return UNCONNECTED
    try:
        return Edge.parse(raw)
    except (GraphError, ValueError) as error:
        raise FormatError(f"{where}: {raw!r} does not name an output; write 'node' or 'node:1'") from error


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FormatError(f"{what} must be an object, not {_kind(value)}")
    return value


def _list(value: object, what: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise FormatError(f"{what} must be a list, not {_kind(value)}")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise FormatError(f"{what} must be a text, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "empty" if value in ("", None) else names.get(type(value), type(value).__name__)


def edge_text(edge: Edge) -> str | None:
    """An edge as it stands in a file: ``"node"``, ``"node:1"``, ``"node:1@gpu"``; `None` where nothing is connected."""
    if not edge.node:
        return None
    text = str(edge)
    # A name may itself look like a reference; the number of the output then says where it ends.
    return (
        text if Edge.parse(text) == edge else f"{edge.node}:{edge.output}" + (f"@{edge.device}" if edge.device else "")
    )


def to_document(graph: Graph) -> Document:
    """The document of a graph: plain JSON values, in an order that does not depend on how the graph was made."""
    view = dict(graph.view)
    rest = view.pop(_REST, {})
    folded = view.pop(subgraphs.FOLDED, None)
    rest_of_nodes = rest.get("nodes", {})
    document: Document = {
        "format": FORMAT,
        "version": VERSION,
        "pipeline": {key: encode(graph.pipeline[key]) for key in _ordered(graph.pipeline, _SETTINGS)},
        "nodes": {name: {**_entry(node), **rest_of_nodes.get(name, {})} for name, node in graph.nodes.items()},
        "outputs": [edge_text(edge) for edge in graph.outputs],
    }
    if folded is not None and _still(graph, folded):
        document.update(folded)
    if view:
        places = view.get("nodes")
        if isinstance(places, Mapping):
            gone = graph.nodes.keys() - document["nodes"].keys()
            order = _ordered(places, tuple(document["nodes"]))
            view["nodes"] = {name: places[name] for name in order if name not in gone}
        document["view"] = {key: view[key] for key in _ordered(view, ("nodes", "notes", "groups"))}
    return {**document, **rest.get("document", {})}


def _still(graph: Graph, folded: Mapping[str, Any]) -> bool:
    """Whether a graph is what its file had, so that it can be written with the sub-graphs of the file."""
    view = {"nodes": graph.view.get("nodes") or {}}
    found = from_document({"format": FORMAT, "version": VERSION, **folded, "view": view})
    same = list(found.nodes) == list(graph.nodes) and dict(found.nodes) == dict(graph.nodes)
    return same and found.outputs == graph.outputs


_SETTINGS = ("batch_size", "num_threads", "device_id", "seed", "prefetch_queue_depth")


def _ordered(found: Mapping[str, Any], order: Sequence[str]) -> list[str]:
    known = [key for key in order if key in found]
    taken = set(known)
    return known + [key for key in found if key not in taken]


def _entry(node: Node) -> dict[str, Any]:
    table = _arguments_of(node.op)
    inputs = [edge_text(edge) for edge in node.inputs]
    while inputs and inputs[-1] is None:
        inputs.pop()
    entry: dict[str, Any] = {"op": node.op, "device": node.device}
    if inputs:
        entry["inputs"] = inputs
    if node.arguments:
        entry["arguments"] = {
            key: encode(node.arguments[key], table.get(key)) for key in _ordered(node.arguments, tuple(table))
        }
    if node.connections:
        entry["connections"] = {
            key: edge_text(node.connections[key]) for key in _ordered(node.connections, tuple(table))
        }
    return entry


def dumps(graph: Graph) -> str:
    """The text of the file for a graph; equal graphs give equal texts.

    Raises
    ------
    FormatError
        If the view holds what JSON cannot.
    """
    return format_document(to_document(graph))


def format_document(document: Mapping[str, object]) -> str:
    """A document as text: what fits on a line stands on one, so that a change of an argument changes one line."""
    try:
        text = _pretty(document, 0, 0, opened=("nodes", "view"))
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"this cannot be written as JSON: {error}") from error
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _pretty(value: object, indent: int, used: int, *, opened: Collection[str] | None = None) -> str:
    """`value` on one line if it fits behind the `used` columns, else one entry a line; numbers fill lines.

    With `opened` it gets one entry a line in any case, and so do its entries of these names.
    """
    if not isinstance(value, (dict, list)) or not value:
        return _compact(value)
    if opened is None and used + len(line := _compact(value)) <= _WIDTH:
        return line
    inner = " " * (indent + 2)
    parts = []
    if isinstance(value, dict):
        for key, item in value.items():
            label = f"{inner}{_compact(str(key))}: "
            below = () if opened and key in opened else None
            parts.append(label + _pretty(item, indent + 2, len(label) + 1, opened=below))
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    if all(isinstance(item, (int, float)) for item in value):
        lines = textwrap.wrap(_compact(value)[1:-1], _WIDTH - len(inner), break_on_hyphens=False)
        parts = [inner + f"\n{inner}".join(lines)]
    else:
        parts = [inner + _pretty(item, indent + 2, len(inner) + 1) for item in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"
