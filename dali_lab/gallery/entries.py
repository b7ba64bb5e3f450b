"""Reads entries of the gallery: a folder each, with ``entry.json`` and perhaps a graph file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dali_lab.formats.disk import read_bytes
from dali_lab.gallery.graphs import ENTRY_FILE, GRAPH_KEYS, graph_of
from dali_lab.gallery.places import built_in_folder, with_pictures
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.verification import verify
from dali_lab.io.files import list_folder
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.schema.registry import find_operator, has_operator

_TEXTS = ("title", "family", "helps", "hurts", "tags", "before", "arguments", "overlays", "picture", "waiting")
_KEYS = (*_TEXTS, *GRAPH_KEYS)
OVERLAYS = ("boxes", "points", "mask")


@dataclass(frozen=True)
class Argument:
    """An argument worth playing with.

    Attributes
    ----------
    node, name
        The node and its argument.
    minimum, maximum
        The range in which it makes sense; `None` for an argument that is a choice or a switch.
    """

    node: str
    name: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class Overlay:
    """Annotations that are drawn over a picture.

    Attributes
    ----------
    kind
        ``"boxes"`` (left, top, right, bottom), ``"points"`` (x, y) or ``"mask"`` (class numbers).
    source
        Where it comes from.
    on
        The picture that it belongs to.
    relative
        Whether coordinates are shares of the picture's size; otherwise they are pixels.
    """

    kind: str
    source: Edge
    on: Edge
    relative: bool = True


@dataclass(frozen=True)
class Entry:
    """An augmentation or a recipe.

    Attributes
    ----------
    name
        The name of its folder.
    helps, hurts
        A sentence each on when to use it and when not.
    before
        The edge with the picture as it was; None where there is nothing to compare with.
    graph
        With placeholders such as ``$photographs`` for the places of samples.
    overlays
        Boxes, points and masks that belong to its pictures.
    picture
        Number of the sample picture that shows it best, from 0; `None` leaves it to the family.
    waiting
        Reason why it cannot run yet.
    """

    name: str
    folder: Path
    title: str
    family: str
    helps: str
    hurts: str
    tags: tuple[str, ...]
    before: Edge | None
    arguments: tuple[Argument, ...]
    graph: Graph
    overlays: tuple[Overlay, ...] = ()
    picture: int | None = None
    waiting: str | None = None

    def over(self, pictures: str | os.PathLike[str] | None = None) -> Graph:
        """The graph over a folder of pictures, by default the sample photographs."""
        return with_pictures(self.graph, pictures)


@dataclass(frozen=True)
class BrokenEntry:
    """An entry that cannot be shown, and why."""

    name: str
    folder: Path
    problem: str


@dataclass(frozen=True)
class Gallery:
    """Entries by name, and those that are broken."""

    entries: Mapping[str, Entry]
    broken: Sequence[BrokenEntry] = field(default=())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        return self.entries[name]

    def search(self, text: str) -> list[Entry]:
        """The entries in which every word of `text` appears: in title, family, tags or operators."""
        words = text.lower().split()
        return [entry for entry in self if all(word in _searched(entry) for word in words)]


def _searched(entry: Entry) -> str:
    operators = (node.op for node in entry.graph.nodes.values())
    return " ".join([entry.name, entry.title, entry.family, *entry.tags, *operators]).lower()


def load_gallery(*folders: str | os.PathLike[str], built_in: bool = True, missing_ok: bool = False) -> Gallery:
    """All entries: the built-in ones, then those of `folders`. A broken entry does not affect the others.

    Where a name is taken twice, the first entry stays and the second is listed as broken. With `missing_ok`, a folder
    that is not there is listed as a broken entry, too.

    Raises
    ------
    DaliLabError
        If one of `folders` is no folder.
    """
    entries: dict[str, Entry] = {}
    broken: list[BrokenEntry] = []
    for folder in [*([built_in_folder()] if built_in else []), *map(Path, folders)]:
        if not folder.is_dir():
            problem = f"there is no gallery folder at {folder}"
            if not missing_ok:
                raise DaliLabError(problem)
            broken.append(BrokenEntry(folder.name, folder, problem))
            continue
        try:
            names = sorted(entry.name for entry in list_folder(str(folder)) if entry.is_dir())
        except OSError as error:
            broken.append(BrokenEntry(folder.name, folder, str(error)))
            continue
        for place in (folder / name for name in names if name[0] not in "._"):
            try:
                entry = load_entry(place)
            except (DaliLabError, OSError) as error:
                broken.append(BrokenEntry(place.name, place, str(error)))
                continue
            if entry.name in entries:
                taken = f"the name '{entry.name}' is taken by the entry in {entries[entry.name].folder}"
                broken.append(BrokenEntry(entry.name, place, taken))
            else:
                entries[entry.name] = entry
    return Gallery(entries, tuple(broken))


def load_entry(folder: str | os.PathLike[str]) -> Entry:
    """The entry in `folder`.

    Raises
    ------
    FormatError
        If a file is missing or says something that makes no sense.
    GraphError
        If its graph cannot run, as with an operator that is not installed.
    """
    folder = Path(folder)
    if not (folder / ENTRY_FILE).is_file():
        raise FormatError(f"the file {ENTRY_FILE} is missing")
    data = _entry_data(folder / ENTRY_FILE)
    graph, beginning = graph_of(folder, data)
    waiting = _text(data, "waiting") if data.get("waiting") is not None else None
    if waiting is None:
        verify(graph)
    return Entry(
        name=folder.name,
        folder=folder,
        title=_text(data, "title"),
        family=_text(data, "family"),
        helps=_text(data, "helps"),
        hurts=_text(data, "hurts"),
        tags=_tags(data),
        before=_before(data, graph) if "before" in data else beginning,
        arguments=tuple(_argument(item, graph) for item in _list(data, "arguments")),
        graph=graph,
        overlays=tuple(_overlay(item, graph) for item in _list(data, "overlays")),
        picture=_picture(data),
        waiting=waiting,
    )


def _entry_data(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{ENTRY_FILE} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise FormatError(f"{ENTRY_FILE} should hold an object")
    unknown = sorted(set(data) - set(_KEYS))
    if unknown:
        raise FormatError(f"{ENTRY_FILE} has a key '{unknown[0]}' that is not known; it takes {', '.join(_KEYS)}")
    return data


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise FormatError(f"'{key}' in {ENTRY_FILE} should be a text")
    return value


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise FormatError(f"'{key}' in {ENTRY_FILE} should be a list")
    return value


def _tags(data: Mapping[str, Any]) -> tuple[str, ...]:
    tags = _list(data, "tags")
    if not all(isinstance(tag, str) for tag in tags):
        raise FormatError(f"'tags' in {ENTRY_FILE} should be texts")
    return tuple(tags)


def _before(data: Mapping[str, Any], graph: Graph) -> Edge | None:
    text = data.get("before")
    if text is None:
        return None
    if not isinstance(text, str) or text.partition(":")[0] not in graph.nodes:
        raise FormatError(f"'before' in {ENTRY_FILE} should be one of the graph's nodes, not {text!r}")
    return Edge.parse(text)


def _argument(item: Any, graph: Graph) -> Argument:
    keys = set(item) if isinstance(item, dict) else set()
    if keys not in ({"node", "name"}, {"node", "name", "minimum", "maximum"}):
        raise FormatError(f"an item of 'arguments' in {ENTRY_FILE} should have node and name, and perhaps a range")
    node, name = item["node"], item["name"]
    if not isinstance(node, str) or node not in graph.nodes:
        raise FormatError(f"'arguments' in {ENTRY_FILE} names a node {node!r} that the graph does not have")
    if not isinstance(name, str):
        raise FormatError(f"an argument in {ENTRY_FILE} is named {name!r}; it should be a text")
    op = graph[node].op
    if has_operator(op) and name not in {declared.name for declared in find_operator(op).arguments}:
        raise FormatError(f"'arguments' in {ENTRY_FILE} names '{name}', which '{op}' does not take")
    if "minimum" not in keys:
        return Argument(node, name)
    low, high = item["minimum"], item["maximum"]
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
            raise FormatError(f"the range of '{name}' in {ENTRY_FILE} should be two numbers")
    if low >= high:
        raise FormatError(f"the range of '{name}' in {ENTRY_FILE} is empty: {low} to {high}")
    return Argument(node, name, float(low), float(high))


def _overlay(item: object, graph: Graph) -> Overlay:
    if not isinstance(item, dict) or not {"kind", "from", "on"} <= set(item) <= {"kind", "from", "on", "relative"}:
        raise FormatError(f"an item of 'overlays' in {ENTRY_FILE} should have kind, from and on")
    if item["kind"] not in OVERLAYS:
        raise FormatError(
            f"an overlay in {ENTRY_FILE} is of the kind {item['kind']!r}; there are {', '.join(OVERLAYS)}"
        )
    edges = []
    for key in ("from", "on"):
        if not isinstance(item[key], str) or item[key].partition(":")[0] not in graph.nodes:
            raise FormatError(f"'{key}' of an overlay in {ENTRY_FILE} should be a node of the graph, not {item[key]!r}")
        edges.append(Edge.parse(item[key]))
    relative = item.get("relative", True)
    if not isinstance(relative, bool):
        raise FormatError(f"'relative' of an overlay in {ENTRY_FILE} should be true or false")
    return Overlay(item["kind"], edges[0], edges[1], relative)


def _picture(data: Mapping[str, Any]) -> int | None:
    value = data.get("picture")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise FormatError(f"'picture' in {ENTRY_FILE} should be a number from 0, not {value!r}")
    return value
