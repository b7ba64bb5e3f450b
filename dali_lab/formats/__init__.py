"""Graphs as files: the project's own, NVIDIA DALI's serialized form, Python code, Graphviz, pictures, torchvision."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

# Each registers its forms, and people see them in this order.
# isort: off
from dali_lab.formats import json, dali, python, others, pictures  # noqa: F401

# isort: on
from dali_lab.formats.disk import PathLike, read_bytes, write_bytes
from dali_lab.formats.paths import beside, resolved
from dali_lab.formats.registry import FORMATS, Format, beginning, detected, format_of
from dali_lab.formats.secrets import refuse_secrets
from dali_lab.graph.graph import Graph, require_graph
from dali_lab.model.errors import FormatError, nearest
from dali_lab.model.references import trusted


def load(
    path: PathLike, *, trust: bool = False, name: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Graph:
    """Read a graph from a file of any form, which its content tells. Nothing in it is executed.

    Paths of a graph file that start at its folder (``./pictures``) become absolute.

    Parameters
    ----------
    trust
        Import the Python objects that the file names.
    name
        The pipeline function to read from a Python program with several.
    arguments
        Arguments of that function.

    Raises
    ------
    FormatError
        If the file is damaged, or of no form that can be read.
    """
    try:
        data = read_bytes(path)
        graph = loads(data, name=name, arguments=arguments, file=path)
        form = detected(data, os.fspath(path))
        if form is not None and form.movable:
            graph = resolved(graph, path)
    except FormatError as error:
        error.source = error.source or os.fspath(path)
        raise
    return trusting(graph) if trust else graph


def loads(
    data: bytes | str, *, name: str | None = None, arguments: Mapping[str, Any] | None = None, file: PathLike = ""
) -> Graph:
    """Read a graph from the content of a file of any form.

    Parameters
    ----------
    name, arguments
        As in :func:`load`.
    file
        Name of the file; one that ends in ``.py`` says that it is a Python program.

    Raises
    ------
    FormatError
        If it is damaged, or of no form that can be read.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if not beginning(data):
        raise FormatError("the file is empty")
    # Content of no known form may be a damaged serialized pipeline.
    form = detected(data, os.fspath(file)) or FORMATS["dali-serialized"]
    assert form.loads is not None
    return form.loads(data, name, arguments, file)


def trusting(graph: Graph) -> Graph:
    """The graph with the Python objects that it names imported.

    Raises
    ------
    FormatError
        If one cannot be imported.
    """
    nodes = {
        name: node.replaced(arguments={key: trusted(value) for key, value in node.arguments.items()})
        for name, node in graph.nodes.items()
    }
    settings = {key: trusted(value) for key, value in graph.pipeline.items()}
    return graph.replaced(nodes=nodes, pipeline=settings)


def dump(graph: Graph, path: PathLike, to: str | None = None, **options: object) -> None:
    """Write a graph to a file; in graph files and programs, paths of what lies beside them start at their folder.

    Parameters
    ----------
    to
        Name of the form, one of :data:`FORMATS`; by default what the file's ending stands for.
    **options
        Options of the form's own ``dumps``.

    Raises
    ------
    FormatError
        If the graph cannot be written in this form, or the file not at all.
    """
    require_graph(graph)
    to = to or format_of(path).name
    form = FORMATS.get(to)
    if form is not None and (form.movable or form.program):
        graph = beside(graph, path)
        options = {"here": True, **options} if form.program else options
    write_bytes(path, dumps(graph, to, **options))


def dumps(graph: Graph, to: str, **options: object) -> bytes:
    """A graph in a form, as the bytes of its file.

    Raises
    ------
    FormatError
        If there is no such form, the graph cannot be written in it, or it has credentials in a URL.
    """
    if to not in FORMATS:
        raise FormatError(f"there is no form '{to}'{nearest(to, FORMATS)}; there are {', '.join(FORMATS)}")
    require_graph(graph)
    refuse_secrets(graph)
    content = FORMATS[to].dumps(graph, **options)
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def lost(graph: Graph, to: PathLike) -> list[str]:
    """The parts of a graph that a form leaves out, in sentences; none for forms that keep all.

    Parameters
    ----------
    to
        Name of the form, or a file whose ending stands for one.

    Raises
    ------
    FormatError
        If there is no such form.
    """
    return (FORMATS.get(os.fspath(to)) or format_of(to)).lost(graph)


__all__ = ["FORMATS", "Format", "detected", "dump", "dumps", "format_of", "load", "loads", "lost", "trusting"]
