"""Changes of a document, the protocol's unit of editing: nodes that come and go, and patches of those that stay."""

from __future__ import annotations

from typing import Any

from dali_lab.graph.switches import switches
from dali_lab.studio.document.graph_document import DocumentError, check_node, check_outputs

Json = dict[str, Any]
_PARTS = ("arguments", "connections")


def applied(document: Json, changes: Any) -> Json:
    """The document after `changes`; patches of nodes that are gone are passed over.

    Raises
    ------
    DocumentError
        If the changes cannot be understood.
    """
    if not isinstance(changes, dict):
        raise DocumentError("The changes should be an object.")
    result = dict(document)
    if "nodes" in changes:
        entries = _mapping(changes["nodes"], "nodes")
        for name, node in entries.items():
            if node is not None:
                check_node(name, node)
        result["nodes"] = _merged(document["nodes"], entries)
    if changes.get("patches") is not None:
        nodes = dict(result["nodes"])
        for name, patch in _mapping(changes["patches"], "patches").items():
            if name in nodes:
                nodes[name] = _patched(nodes[name], _mapping(patch, f"patches.{name}"))
                check_node(name, nodes[name])
        result["nodes"] = nodes
    if changes.get("order") is not None:
        result["nodes"] = _ordered(result["nodes"], changes["order"])
    if "outputs" in changes:
        check_outputs(changes["outputs"])
        result["outputs"] = list(changes["outputs"])
    if "pipeline" in changes:
        result["pipeline"] = dict(_mapping(changes["pipeline"], "pipeline"))
    if changes.get("view") is not None:
        view = _mapping(changes["view"], "view")
        new_view = {**document["view"], **{key: value for key, value in view.items() if key != "nodes"}}
        if "nodes" in view:
            new_view["nodes"] = _merged(document["view"]["nodes"], _mapping(view["nodes"], "view.nodes"))
        result["view"] = new_view
    return result


def changes_meaning(changes: Json, before: Json) -> bool:
    """Whether results may differ after `changes`."""
    if any(part in changes for part in ("nodes", "patches", "order", "outputs", "pipeline")):
        return True
    places = (changes.get("view") or {}).get("nodes") or {}
    return switches({"nodes": {**before["view"]["nodes"], **places}}) != switches(before["view"])


def _patched(node: Json, patch: Json) -> Json:
    result = _entries(node, patch)
    for part in _PARTS:
        if patch.get(part) is not None:
            result[part] = _entries(result.get(part) or {}, _mapping(patch[part], part))
    return result


def _entries(before: Json, changes: Json) -> Json:
    """An object with entries set and unset, in the order that is asked for."""
    new = _mapping(changes.get("set", {}), "set")
    gone = set(_names(changes.get("unset", []), "unset")) - new.keys()
    result = {key: value for key, value in {**before, **new}.items() if key not in gone}
    return _ordered(result, changes["order"]) if changes.get("order") is not None else result


def _ordered(entries: Json, order: Any) -> Json:
    return {name: entries[name] for name in [*_names(order, "order"), *entries] if name in entries}


def _names(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DocumentError(f"'{name}' of the changes should be a list of names.")
    return value


def _mapping(value: Any, name: str) -> Json:
    if not isinstance(value, dict):
        raise DocumentError(f"'{name}' of the changes should be an object.")
    return value


def _merged(before: Json, entries: Json) -> Json:
    merged = {**before, **entries}
    return {name: value for name, value in merged.items() if value is not None}
