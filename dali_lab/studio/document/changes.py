"""Changes of a document, the protocol's unit of editing: nodes added, removed or patched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from dali_lab.graph.switches import switches
from dali_lab.studio.document.graph_document import check_node, check_outputs, check_subgraphs
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.protocol.documents import Changes, Document, Entries, NodeEntry, NodePatch
from dali_lab.studio.protocol.values import JsonObject

T = TypeVar("T")


def read_changes(given: Changes | JsonObject) -> Changes:
    """Changes decoded from a host's message.

    Raises
    ------
    DocumentError
        If they cannot be decoded.
    """
    try:
        return msgspec.convert(given, Changes)
    except msgspec.ValidationError as error:
        raise DocumentError(f"The changes cannot be understood: {error}.") from error


def applied(document: Document, changes: Changes) -> Document:
    """The document after `changes`; patches of removed nodes are ignored.

    Raises
    ------
    DocumentError
        If a node or the outputs cannot be part of a document.
    """
    result = document.copy()
    if changes.nodes is not None:
        for name, node in changes.nodes.items():
            if node is not None:
                check_node(name, node)
        result["nodes"] = _merged(document["nodes"], changes.nodes)
    if changes.patches is not None:
        nodes = dict(result["nodes"])
        for name, patch in changes.patches.items():
            if name in nodes:
                nodes[name] = _patched(nodes[name], patch)
                check_node(name, nodes[name])
        result["nodes"] = nodes
    if changes.order is not None:
        result["nodes"] = _ordered(result["nodes"], changes.order)
    if changes.outputs is not None:
        check_outputs(changes.outputs)
        result["outputs"] = changes.outputs
    if changes.pipeline is not None:
        result["pipeline"] = _changed(document["pipeline"], changes.pipeline)
    if changes.subgraphs is not None:
        result["subgraphs"] = _merged(document.get("subgraphs") or {}, changes.subgraphs)
        if not result["subgraphs"]:
            del result["subgraphs"]
    if "subgraphs" in result and (changes.subgraphs is not None or changes.nodes is not None):
        check_subgraphs(result)
    if changes.view is not None:
        view = document["view"].copy()
        if changes.view.nodes is not None:
            view["nodes"] = _merged(view["nodes"], changes.view.nodes)
        if changes.view.notes is not None:
            view["notes"] = changes.view.notes
        if changes.view.groups is not None:
            view["groups"] = changes.view.groups
        result["view"] = view
    return result


def changes_meaning(changes: Changes, before: Document) -> bool:
    """Whether results may differ after `changes`."""
    parts = (changes.nodes, changes.patches, changes.order, changes.outputs, changes.pipeline, changes.subgraphs)
    if any(part is not None for part in parts):
        return True
    places = (changes.view.nodes if changes.view is not None else None) or {}
    return switches({"nodes": {**before["view"]["nodes"], **places}}) != switches(before["view"])


def _patched(node: NodeEntry, patch: NodePatch) -> NodeEntry:
    result: NodeEntry = _changed(node, patch)
    if patch.arguments is not None:
        result["arguments"] = _changed(result.get("arguments") or {}, patch.arguments)
    if patch.connections is not None:
        result["connections"] = _changed(result.get("connections") or {}, patch.connections)
    return result


def _changed(before: Mapping[str, object], entries: Entries) -> Any:
    """An object of the same kind with entries set and unset, in the given order."""
    new = entries.set or {}
    gone = set(entries.unset or ()) - new.keys()
    result = {key: value for key, value in {**before, **new}.items() if key not in gone}
    return _ordered(result, entries.order) if entries.order is not None else result


def _ordered(entries: Mapping[str, T], order: list[str]) -> dict[str, T]:
    return {name: entries[name] for name in [*order, *entries] if name in entries}


def _merged(before: Mapping[str, T], entries: Mapping[str, T | None]) -> dict[str, T]:
    merged = {**before, **entries}
    return {name: value for name, value in merged.items() if value is not None}
