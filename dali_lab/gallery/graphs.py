"""The graph of an entry: a file beside ``entry.json``, or nodes in it that continue a shared beginning."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dali_lab.formats.disk import read_bytes
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery.places import built_in_folder
from dali_lab.graph.graph import Edge, Graph
from dali_lab.io.files import list_folder
from dali_lab.model.errors import FormatError, nearest

ENTRY_FILE = "entry.json"
GRAPH_FILE = "graph.dali.json"
PROGRAM_FILE = "graph.py"
_SUFFIX = ".dali.json"
BEGINNINGS = "_beginnings"
"""Folder, beside the entries of a gallery, of the graphs that they continue."""

GRAPH_KEYS = ("begins", "nodes", "outputs", "pipeline")
"""Keys of ``entry.json`` that stand for a graph file."""


def graph_of(folder: Path, data: Mapping[str, Any]) -> tuple[Graph, Edge | None]:
    """The graph of the entry in `folder`, and the output of the shared beginning that it continues, if it does.

    Parameters
    ----------
    data
        The content of ``entry.json``. ``begins`` names a graph file in ``_beginnings`` of the built-in gallery or of
        the entry's own. ``nodes`` follow it, written as in a graph file; ``outputs`` are the last node by default, and
        ``pipeline`` changes settings.

    Raises
    ------
    FormatError
        If there is no graph, or it cannot be read.
    """
    here = [key for key in GRAPH_KEYS if key in data]
    file = next((folder / name for name in (GRAPH_FILE, PROGRAM_FILE) if (folder / name).is_file()), None)
    if file is not None:
        if here:
            raise FormatError(f"'{here[0]}' in {ENTRY_FILE} does not go with the file {file.name}")
        return json_file.load(file) if file.name == GRAPH_FILE else _program(read_bytes(file)), None
    if not here:
        raise FormatError(f"the file {GRAPH_FILE} is missing")
    beginning = _beginning(folder.parent, data.get("begins"))
    nodes = data.get("nodes")
    if not isinstance(nodes, dict) or not nodes:
        raise FormatError(f"'nodes' in {ENTRY_FILE} should be an object of nodes")
    for name in nodes:
        if name in beginning.nodes:
            raise FormatError(f"'nodes' in {ENTRY_FILE} has '{name}', as '{data['begins']}' does")
    document = {"nodes": nodes, "outputs": data.get("outputs", [name]), "pipeline": data.get("pipeline", {})}
    rest = json_file.from_document({"format": json_file.FORMAT, "version": json_file.VERSION, **document})
    graph = Graph({**beginning.nodes, **rest.nodes}, rest.outputs, {**beginning.pipeline, **rest.pipeline})
    return graph, beginning.outputs[0]


def _beginning(gallery: Path, name: object) -> Graph:
    files: dict[str, Path] = {}
    for place in (built_in_folder() / BEGINNINGS, gallery / BEGINNINGS):
        if place.is_dir():
            names = sorted(entry.name for entry in list_folder(str(place)) if entry.name.endswith(_SUFFIX))
            files |= {name.removesuffix(_SUFFIX): place / name for name in names}
    if not isinstance(name, str) or name not in files:
        raise FormatError(
            f"'begins' in {ENTRY_FILE} is {name!r}{nearest(str(name), files)}; there are {', '.join(files)}"
        )
    graph = json_file.load(files[name])
    if len(graph.outputs) != 1:
        raise FormatError(f"{files[name]} should have one output")
    return graph


@functools.lru_cache(maxsize=64)
def _program(text: bytes) -> Graph:
    """The graph of a program, which is read and not run; kept, since reading takes tenths of a second."""
    from dali_lab.formats.python.programs import decoded
    from dali_lab.formats.python.reader import read

    return read(decoded(text))
