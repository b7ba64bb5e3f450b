"""Makes an entry's folder from a graph."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dali_lab.formats import load, subgraphs
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery.entries import load_entry
from dali_lab.gallery.graphs import BEGINNINGS, ENTRY_FILE, GRAPH_FILE
from dali_lab.gallery.places import built_in_folder
from dali_lab.graph.graph import Edge, Graph, unique_name
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.registry import find_operator, has_operator, known_operator

_MOST_ARGUMENTS = 6
_FAMILIES = {"color": "colour", "filters": "blur", "geometry": "geometry", "audio": "audio", "decoders": "decoders"}


def new_entry(
    graph: str | os.PathLike[str] | Graph,
    gallery: str | os.PathLike[str],
    *,
    name: str | None = None,
    title: str | None = None,
    helps: str = "Say in a sentence when it helps.",
    hurts: str = "Say in a sentence when it hurts.",
) -> Path:
    """Make an entry's folder, with texts to be written by hand.

    Parameters
    ----------
    graph
        A graph, or a file in any form that can be read.
    gallery
        The folder that the entry's folder goes into; made if it is not there.
    name
        The folder's name; by default that of the graph's file.
    title
        Title for people; by default the name in words.
    helps, hurts
        A sentence each on when to use it and when not.

    Returns
    -------
    Path
        The entry's folder.

    Raises
    ------
    DaliLabError
        If the graph cannot be read or cannot run, or the name is taken or no name of a folder.
    """
    if name is None:
        if isinstance(graph, Graph):
            raise DaliLabError("say what the entry is called")
        name = re.sub(r"(\.dali)?\.[^.]+$", "", Path(graph).name)
    slug = re.sub(r"[^\w.-]+", "-", name.strip()).strip("-._").lower()
    if not slug:
        raise DaliLabError(f"{name!r} cannot be the name of a folder")
    found = graph if isinstance(graph, Graph) else load(graph)
    folder = Path(gallery) / slug
    if folder.exists():
        raise DaliLabError(f"there is an entry '{slug}' in {gallery} already; give another name")
    folder.mkdir(parents=True)
    try:
        (folder / GRAPH_FILE).write_text(json_file.dumps(found), encoding="utf-8")
        entry = {
            "title": title or slug.replace("-", " ").replace("_", " ").capitalize(),
            "family": family_of(found),
            "helps": helps,
            "hurts": hurts,
            "tags": [],
            "before": before_of(found),
            "arguments": arguments_of(found),
        }
        text = json.dumps(entry, indent=2, ensure_ascii=False) + "\n"
        (folder / ENTRY_FILE).write_text(text, encoding="utf-8")
        load_entry(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def subgraph_entry(document: Mapping[str, Any], node: str, gallery: Path, title: str) -> Path:
    """Make an entry of a sub-graph: the node that stands for it, over the photographs of the gallery.

    Numbers that are drawn for its arguments come along; inputs and arguments that come from data do not. Each of its
    inputs is given the photograph, and its first output is shown.

    Raises
    ------
    DaliLabError
        As in :func:`new_entry`, and if the node is no sub-graph or does not take photographs.
    """
    found = subgraphs.definition_of(document, (document["nodes"].get(node) or {}).get("op"))
    if found is None:
        raise DaliLabError(f"there is no sub-graph '{node}'")
    flat = json_file.from_document(document)
    nodes = dict(
        json_file.to_document(json_file.load(built_in_folder() / BEGINNINGS / "photograph.dali.json"))["nodes"]
    )
    entry = dict(document["nodes"][node])
    entry["inputs"] = ["photo"] * len(found[1].get("inputs") or ())
    connections = {}
    for key, edge in (entry.get("connections") or {}).items():
        drawn = flat.ancestors([Edge.parse(edge).node])
        if not any(_gives_data(flat.nodes[each].op) for each in drawn) and drawn <= document["nodes"].keys():
            nodes.update({each: document["nodes"][each] for each in flat.order() if each in drawn})
            connections[key] = edge
    entry["connections"] = connections
    name = unique_name(found[0], nodes)
    made = {**document, "nodes": {**nodes, name: entry}, "outputs": [name], "view": {}}
    graph = json_file.from_document({**made, "pipeline": {"batch_size": 4, "seed": 42}})
    inside = ", ".join(dict.fromkeys(each.op for name, each in graph.nodes.items() if "/" in name))
    helps = found[1].get("summary") or f"A sub-graph of {inside}."
    return new_entry(graph, gallery, name=found[0], title=title, helps=helps)


def _gives_data(op: str) -> bool:
    operator = known_operator(op)
    return operator is None or bool(operator.source)


def before_of(graph: Graph) -> str | None:
    """The picture to compare with: what follows a decoder to bring pictures to a size, else the decoder."""
    for name in graph.order():
        operator = known_operator(graph.nodes[name].op)
        if operator is None or not operator.decodes:
            continue
        after = graph.consumers()[name]
        follower = known_operator(graph.nodes[after[0]].op) if len(after) == 1 else None
        resized = follower is not None and follower.resizes
        # A graph that only decodes and resizes is about resizing.
        if resized and graph.consumers()[after[0]]:
            return after[0]
        return name if after else graph.nodes[name].inputs[0].node
    return next((name for name in graph.order() if graph.consumers()[name]), None)


def family_of(graph: Graph) -> str:
    """The family of the last operator that is one of a family that the gallery has."""
    for name in reversed(graph.order()):
        op = graph.nodes[name].op
        if has_operator(op) and find_operator(op).family in _FAMILIES:
            return _FAMILIES[find_operator(op).family]
    return "recipes"


def arguments_of(graph: Graph) -> list[dict[str, Any]]:
    """Numbers and choices that the graph sets and whose range is declared, the important ones first."""
    found: list[tuple[bool, dict[str, Any]]] = []
    before = before_of(graph)
    prepares = graph.ancestors([before]) if before is not None and graph.consumers()[before] else set()
    for node in graph.nodes.values():
        if node.id in prepares or not has_operator(node.op) or find_operator(node.op).source:
            continue
        for declared in find_operator(node.op).arguments:
            value = node.arguments.get(declared.name)
            if value is None or declared.advanced or declared.name in node.connections:
                continue
            low = declared.minimum if declared.soft_minimum is None else declared.soft_minimum
            high = declared.maximum if declared.soft_maximum is None else declared.soft_maximum
            place = {"node": node.id, "name": declared.name}
            if declared.type == "bool" or declared.choices:
                found.append((declared.important, place))
            elif declared.type in ("float", "int", "number") and low is not None and high is not None and low < high:
                found.append((declared.important, {**place, "minimum": float(low), "maximum": float(high)}))
            elif find_operator(node.op).makes_numbers and declared.name == "range":
                span = float(value[1]) - float(value[0])
                if span > 0:
                    ends = {"minimum": float(value[0]) - span, "maximum": float(value[1]) + span}
                    found.append((True, {**place, **ends}))
    found.sort(key=lambda item: not item[0])
    return [entry for _, entry in found[:_MOST_ARGUMENTS]]
