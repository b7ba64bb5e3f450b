"""Folders of entries, and of the pictures and other samples of their graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.gallery import samples
from dali_lab.gallery.samples.own import KINDS, MOST_PICTURES, annotation_name, annotations_of, pictures_in
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError

PHOTOGRAPHS = "$photographs"
"""Placeholder in graphs of the gallery for the folder of pictures."""

ANNOTATED = "$annotated"
"""Placeholder for the folder of pictures with boxes, points and masks."""

OWN_FOLDER = "gallery"
"""A project's own entries are in the folder of this name."""

_PLACES: Mapping[str, Callable[[], Path]] = {
    PHOTOGRAPHS: samples.photographs,
    ANNOTATED: samples.annotated,
    "$volumes": samples.volumes,
    "$sounds": samples.sounds,
    "$videos": samples.videos,
}


def built_in_folder() -> Path:
    """The folder of the entries that come with DALI Lab: inside the package, or beside it in a checkout.

    Raises
    ------
    DaliLabError
        If this installation has none.
    """
    inside = Path(__file__).parent / "built_in"
    beside = Path(__file__).parents[2] / "gallery"
    for folder in (inside, beside):
        if folder.is_dir():
            return folder
    raise DaliLabError(f"the gallery's entries are not installed: there is no folder {inside}")


def named_folders() -> list[Path]:
    """The galleries that the person names by ``DALI_LAB_GALLERY``: folders, as in ``PATH``."""
    return [Path(part).expanduser() for part in os.environ.get("DALI_LAB_GALLERY", "").split(os.pathsep) if part]


def own_folders(root: Path) -> list[Path]:
    """A project's own galleries: those of :func:`named_folders`, and ``gallery`` in `root`.

    The built-in folder is left out, so that a checkout of DALI Lab does not show its entries twice.
    """
    beside = root / OWN_FOLDER
    found: list[Path] = []
    for folder in [*named_folders(), *([beside] if beside.is_dir() else [])]:
        resolved = folder.absolute().resolve()
        if resolved != built_in_folder().resolve() and resolved not in found:
            found.append(resolved)
    return found


def sample_folder(text: str) -> str | None:
    """`text` with the folder of samples in place of the placeholder that it begins with; `None` if there is none.

    Raises
    ------
    DaliLabError
        If these samples cannot be made.
    """
    place = next((place for place in _PLACES if text == place or text.startswith(f"{place}/")), None)
    return None if place is None else os.fspath(_PLACES[place]()) + text.removeprefix(place)


def places_in(graph: Graph) -> set[str]:
    """The placeholders that a graph reads from."""
    texts = [value for node in graph.nodes.values() for value in node.arguments.values() if isinstance(value, str)]
    return {place for place in _PLACES if any(text.startswith(place) for text in texts)}


def with_pictures(graph: Graph, folder: str | os.PathLike[str] | None = None) -> Graph:
    """`graph` with `folder` (by default the sample photographs) in place of ``$photographs``, and samples in others.

    Raises
    ------
    DaliLabError
        If the folder does not exist, or the sample photographs are not installed.
    """
    wanted = places_in(graph)
    if {PHOTOGRAPHS, ANNOTATED} & wanted and folder is not None and not os.path.isdir(folder):
        raise DaliLabError(f"there is no folder of pictures at {os.fspath(folder)}")
    if ANNOTATED in wanted and folder is not None:
        graph = with_annotated(graph, Path(folder), pictures_in(Path(folder))[:MOST_PICTURES])
        wanted.discard(ANNOTATED)
    table = {
        place: os.fspath(folder) if place == PHOTOGRAPHS and folder is not None else os.fspath(_PLACES[place]())
        for place in wanted
    }
    return with_places(graph, table)


def with_annotated(graph: Graph, folder: Path, files: Sequence[str]) -> Graph:
    """`graph` with these pictures of a folder, and what belongs to them, in place of ``$annotated``.

    Raises
    ------
    DaliLabError
        If a file beside a picture is damaged.
    """
    made = annotations_of(folder, sorted(set(files)))
    for node in graph.nodes.values():
        named = node.arguments.get("files")
        if node.arguments.get("file_root") != ANNOTATED or not named:
            continue
        kind = next((kind for kind in KINDS if named[0].endswith(kind)), None)
        chosen = tuple(files) if kind is None else tuple(annotation_name(file, kind) for file in files)
        root = os.fspath(folder if kind is None else made)
        graph = graph.with_node(node.replaced(arguments={**node.arguments, "file_root": root, "files": chosen}))
    return graph


def with_places(graph: Graph, table: Mapping[str, str]) -> Graph:
    """`graph` with other texts in place of placeholders."""

    def put(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        result = dict(arguments)
        for name, value in arguments.items():
            place = next((p for p in table if isinstance(value, str) and value.startswith(p)), None)
            if place is not None:
                result[name] = table[place] + value.removeprefix(place)
        return result

    for node in graph.nodes.values():
        arguments = put(node.arguments)
        if arguments != dict(node.arguments):
            graph = graph.with_node(node.replaced(arguments=arguments))
    if (folded := graph.view.get(subgraphs.FOLDED)) is not None:
        parts = subgraphs.with_arguments(folded, lambda op, arguments: put(arguments))
        graph = graph.replaced(view={**graph.view, subgraphs.FOLDED: parts})
    return graph
