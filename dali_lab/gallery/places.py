"""Where entries are, and where their graphs find pictures."""

from __future__ import annotations

import os
from pathlib import Path

from dali_lab.errors import DaliLabError
from dali_lab.graph.graph import Graph

PHOTOGRAPHS = "$photographs"
"""What stands in a graph of the gallery where the folder of pictures goes."""


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


def with_pictures(graph: Graph, folder: str | os.PathLike[str] | None = None) -> Graph:
    """`graph` with `folder` (by default the sample photographs) in place of ``$photographs``.

    Raises
    ------
    DaliLabError
        If the folder does not exist, or the sample photographs are not installed.
    """
    readers = [
        node
        for node in graph.nodes.values()
        if any(isinstance(value, str) and value.startswith(PHOTOGRAPHS) for value in node.arguments.values())
    ]
    if not readers:
        return graph
    if folder is None:
        from dali_lab.studio.sample_pictures import sample_pictures

        folder = sample_pictures()
    place = os.fspath(folder)
    if not os.path.isdir(place):
        raise DaliLabError(f"there is no folder of pictures at {place}")
    for node in readers:
        arguments = {
            name: place + value.removeprefix(PHOTOGRAPHS)
            if isinstance(value, str) and value.startswith(PHOTOGRAPHS)
            else value
            for name, value in node.arguments.items()
        }
        graph = graph.with_node(node.replaced(arguments=arguments))
    return graph
