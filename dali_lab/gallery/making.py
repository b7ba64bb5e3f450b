"""Makes an entry's folder from a graph."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from dali_lab.formats import load
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery.entries import load_entry
from dali_lab.gallery.graphs import ENTRY_FILE, GRAPH_FILE
from dali_lab.graph.graph import Graph
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
            "helps": "Say in a sentence when it helps.",
            "hurts": "Say in a sentence when it hurts.",
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
