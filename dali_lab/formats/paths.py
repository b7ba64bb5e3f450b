"""Paths in graph files: what lies beside the file is written relative to it, so that both can be moved together.

In a file, a path that begins with ``./`` starts at the folder of the file; ``./`` alone is this folder. All other
paths are as they are given to operators: an absolute one, a URL, a placeholder such as ``$photographs``, or a relative
one, which starts at the working directory. In memory ``./`` has no meaning of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.formats.disk import PathLike
from dali_lab.graph.graph import Graph
from dali_lab.io.locations import canonical, is_remote
from dali_lab.schema.registry import find_operator, has_operator

BESIDE = "./"
"""In a graph file, the beginning of a path that starts at the folder of the file."""

Arguments = Mapping[str, Any]
Change = Callable[[str], str]


def resolved(graph: Graph, file: PathLike) -> Graph:
    """A graph as it was read from `file`, with absolute paths in place of those that start at the file's folder."""
    return with_paths(graph, resolving(file))


def beside(graph: Graph, file: PathLike) -> Graph:
    """A graph as it is written to `file`: what lies in or under the file's folder has a path that starts there."""
    return with_paths(graph, placing(file))


def resolving(file: PathLike) -> Change:
    """A change that makes paths relative to the folder of this file absolute, and leaves others as they are."""
    folder = os.path.dirname(os.path.abspath(file))

    def change(path: str) -> str:
        if not path.startswith(BESIDE):
            return path
        return os.path.join(folder, *path.split("/")[1:]) if path != BESIDE else folder

    return change


def placing(file: PathLike) -> Change:
    """A change that makes absolute paths in the folder of this file relative to it, and leaves others as they are.

    A relative path keeps its meaning: ``./pictures`` of the working directory becomes ``pictures`` where it does not
    lie beside the file.
    """
    folder = os.path.dirname(os.path.abspath(file))

    def change(path: str) -> str:
        here = path.startswith(BESIDE)
        if is_remote(path) or canonical(path) != path or not (here or os.path.isabs(path)):
            return path
        found = _below(path, folder)
        if found is not None:
            return found
        return (path[len(BESIDE) :].lstrip("/") or ".") if here else path

    return change


def changed(op: str, arguments: Arguments, change: Change) -> Arguments:
    """Arguments of an operator with `change` made to the paths in them; the same object where nothing changes.

    Paths that start at the folder in another argument, such as `files` in `file_root`, stay as they are.
    """
    if not has_operator(op):
        return arguments
    table = find_operator(op).argument_table
    found = {}
    for name, value in arguments.items():
        declared = table.get(name)
        if declared is None or not declared.is_path:
            continue
        if declared.relative_to is not None and arguments.get(declared.relative_to):
            continue
        after = _changed(value, change)
        if after != value:
            found[name] = after
    return {**arguments, **found} if found else arguments


def _changed(value: Any, change: Change) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_changed(item, change) for item in value)
    return value


def with_paths(graph: Graph, change: Change) -> Graph:
    """A graph with `change` made to all paths; the same object where nothing changes."""
    nodes = {}
    for name, node in graph.nodes.items():
        arguments = changed(node.op, node.arguments, change)
        nodes[name] = node if arguments is node.arguments else node.replaced(arguments=arguments)
    if all(nodes[name] is node for name, node in graph.nodes.items()):
        return graph
    view = dict(graph.view)
    if (folded := view.get(subgraphs.FOLDED)) is not None:
        view[subgraphs.FOLDED] = subgraphs.with_arguments(
            dict(folded), lambda op, arguments: changed(op, arguments, change)
        )
    return graph.replaced(nodes=nodes, view=view)


def _below(path: str, folder: str) -> str | None:
    """A path from a folder on, with ``./`` before it and slashes; `None` where it does not lie in the folder."""
    pairs = [(os.path.realpath(path), os.path.realpath(folder))]
    # A link beside the file leads elsewhere, but moves with the file; ".." behind a link is another folder, though.
    if os.pardir not in path.replace(os.sep, "/").split("/"):
        pairs.insert(0, (os.path.abspath(path), folder))
    for place, start in pairs:
        try:
            found = os.path.relpath(place, start)
        except ValueError:  # another drive of Windows
            continue
        if found == os.curdir:
            return BESIDE
        parts = found.split(os.sep)
        if parts[0] != os.pardir:
            return BESIDE + "/".join(parts)
    return None
