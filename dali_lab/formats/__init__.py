"""Graphs as files: the project's own, NVIDIA DALI's serialized form, Python code, Graphviz, pictures, torchvision."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dali_lab.formats.disk import PathLike, read_bytes, write_bytes
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError, nearest


@dataclass(frozen=True)
class Format:
    """One form of a graph.

    Attributes
    ----------
    name
        For ``--to``.
    title
        One line for people.
    endings
        Of file names, the usual one first.
    reads
        Whether graphs can be read from it.
    binary
        Whether it is bytes and not text.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    reads: bool = False
    binary: bool = False


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format("json", "the project's graph file, which keeps everything", (".dali.json", ".json"), True),
        Format("dali-serialized", "NVIDIA DALI's serialized pipeline", (".dali", ".pb", ".serialized"), True, True),
        Format("python", "a Python program for DALI Lab", (".py",), True),
        Format("nvidia-python", "a Python program for NVIDIA DALI", (".nvidia.py",)),
        Format("pytorch", "a Python program for DALI Lab that iterates over PyTorch tensors", (".torch.py",)),
        Format("torchvision", "a Python module of torchvision transforms", (".torchvision.py",)),
        Format("dot", "Graphviz", (".dot", ".gv")),
        Format("svg", "a picture of the graph", (".svg",), False, True),
        Format("pdf", "a picture of the graph, made by Graphviz", (".pdf",), False, True),
        Format("png", "a picture of the graph, made by Graphviz, with the graph inside", (".png",), True, True),
    )
}


def format_of(path: PathLike) -> Format:
    """The form that a file's ending stands for.

    Raises
    ------
    FormatError
        If no form has this ending.
    """
    name = os.path.basename(os.fspath(path)).lower()
    found = [(ending, entry) for entry in FORMATS.values() for ending in entry.endings if name.endswith(ending)]
    if not found:
        known = ", ".join(entry.endings[0] for entry in FORMATS.values())
        raise FormatError(f"the ending of '{name}' stands for no form of a graph; known are {known}")
    return max(found, key=lambda item: len(item[0]))[1]


def load(
    path: PathLike, *, trust: bool = False, name: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Graph:
    """Read a graph from a file of any form; which one, its content tells. Nothing in it is executed.

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
    data = read_bytes(path)
    try:
        graph = loads(data, name=name, arguments=arguments, program=os.fspath(path).endswith(".py"))
    except FormatError as error:
        error.source = error.source or os.fspath(path)
        raise
    return trusting(graph) if trust else graph


def loads(
    data: bytes | str,
    *,
    name: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    program: bool = False,
) -> Graph:
    """Read a graph from the content of a file of any form.

    Parameters
    ----------
    name, arguments
        As in :func:`load`.
    program
        Whether it is known to be a Python program.

    Raises
    ------
    FormatError
        If it is damaged, or of no form that can be read.
    """
    from dali_lab.formats.json import graph_file as json_file
    from dali_lab.formats.pictures import png

    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if data.startswith(png.SIGNATURE):
        return png.loads(data)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return json_file.loads(data)
    if not data.strip():
        raise FormatError("the file is empty")
    from dali_lab.formats.dali import writer as dali_proto
    from dali_lab.formats.python import reader as python_static

    text = python_static.decoded(data) if program else program_in(data)
    return dali_proto.loads(data, friendly=True) if text is None else python_static.read(text, name, arguments)


def program_in(data: bytes) -> str | None:
    """The text of a Python program, if the content of a file is one and no other form of a graph."""
    from dali_lab.formats.pictures import png
    from dali_lab.formats.python import reader as python_static

    if data.startswith(png.SIGNATURE) or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b""):
        return None
    text = _as_text(data)
    return text if text is not None and python_static.looks_like_python(text) else None


def trusting(graph: Graph) -> Graph:
    """The graph with the Python objects that it names imported.

    Raises
    ------
    FormatError
        If one cannot be imported.
    """
    from dali_lab.formats.values import trusted

    nodes = {
        name: node.replaced(arguments={key: trusted(value) for key, value in node.arguments.items()})
        for name, node in graph.nodes.items()
    }
    return graph.replaced(nodes=nodes)


def _as_text(data: bytes) -> str | None:
    from dali_lab.formats.python import reader as python_static

    try:
        return python_static.decoded(data)
    except FormatError:
        return None


def dump(graph: Graph, path: PathLike, to: str | None = None, **options: Any) -> None:
    """Write a graph to a file.

    Parameters
    ----------
    to
        Name of the form, one of :data:`FORMATS`; by default what the file's ending stands for.
    **options
        What the form's own ``dumps`` takes.

    Raises
    ------
    FormatError
        If the graph cannot be written in this form, or the file not at all.
    """
    write_bytes(path, dumps(graph, to or format_of(path).name, **options))


def dumps(graph: Graph, to: str, **options: Any) -> bytes:
    """A graph in a form, as the bytes of its file.

    Raises
    ------
    FormatError
        If there is no such form, or the graph cannot be written in it.
    """
    from dali_lab.formats.dali import writer as dali_proto
    from dali_lab.formats.json import graph_file as json_file
    from dali_lab.formats.others import torchvision as torchvision_code
    from dali_lab.formats.pictures import dot, png
    from dali_lab.formats.python import writer as python_code

    if to not in FORMATS:
        raise FormatError(f"there is no form '{to}'{nearest(to, FORMATS)}; there are {', '.join(FORMATS)}")
    if to == "dali-serialized":
        return dali_proto.dumps(graph, **options)
    if to in ("svg", "pdf"):
        return dot.picture(graph, "svg" if to == "svg" else "pdf")
    if to == "png":
        return png.embed(dot.picture(graph, "png"), graph)
    if to == "json":
        text = json_file.dumps(graph)
    elif to == "dot":
        text = dot.dumps(graph, **options)
    elif to == "torchvision":
        text = torchvision_code.dumps(graph, **options)
    elif to == "pytorch":
        text = python_code.dumps(graph, main="pytorch", **options)
    else:
        text = python_code.dumps(graph, "dali_lab" if to == "python" else "nvidia.dali", **options)
    return text.encode("utf-8", "replace")


def lost(graph: Graph, to: PathLike) -> list[str]:
    """What of a graph is not in a form of it, in sentences; nothing for forms that keep all.

    Parameters
    ----------
    to
        Name of the form, or a file whose ending stands for one.

    Raises
    ------
    FormatError
        If there is no such form.
    """
    form = FORMATS.get(os.fspath(to)) or format_of(to)
    if form.name in ("json", "png"):
        return []
    from dali_lab.formats.exported import unneeded
    from dali_lab.formats.python.writer import settings_without_place

    result = []
    if form.name not in ("dot", "svg", "pdf") and (names := unneeded(graph)):
        result.append(f"left out, because no output needs it: {', '.join(names)}")
    if form.name == "dali-serialized" or not form.reads:
        return result
    if settings := settings_without_place(graph):
        result.append(f"settings that programs do not take are left out: {', '.join(settings)}")
    if graph.view.get("nodes") or graph.view.get("groups"):
        result.append("positions and groups of nodes are not in a program")
    return result


__all__ = ["FORMATS", "Format", "dump", "dumps", "format_of", "load", "loads", "lost", "program_in", "trusting"]
