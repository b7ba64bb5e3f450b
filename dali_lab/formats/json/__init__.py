"""The project's own graph file."""

from __future__ import annotations

from dali_lab.formats.registry import Arguments, Format, beginning, register
from dali_lab.graph.graph import Graph


def detect(data: bytes, name: str) -> bool:
    """Whether a text begins as a document of JSON does."""
    return beginning(data) in (b"{", b"[")


def loads(data: bytes, name: str | None = None, arguments: Arguments | None = None) -> Graph:
    """The graph in a graph file."""
    from dali_lab.formats.json import graph_file

    return graph_file.loads(data)


def dumps(graph: Graph) -> str:
    """A graph file."""
    from dali_lab.formats.json import graph_file

    return graph_file.dumps(graph)


register(
    Format("json", "the project's graph file, which keeps everything", (".dali.json", ".json"), dumps, loads, detect)
)
