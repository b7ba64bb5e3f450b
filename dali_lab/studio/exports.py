"""A document in the forms that people take away: Python, the project's file, Graphviz and others."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dali_lab.errors import DaliLabError
from dali_lab.graph.graph import Edge, Graph
from dali_lab.studio.documents import DocumentError, draft, sentence, written
from dali_lab.studio.validation import check

Json = dict[str, Any]


@dataclass(frozen=True)
class Export:
    """One form: its name in requests, what people read, and the module that makes it with these options."""

    to: str
    title: str
    summary: str
    suffix: str
    mime: str
    language: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def entry(self) -> Json:
        """The form as capabilities list it."""
        return {"to": self.to, "title": self.title, "language": self.language, "summary": self.summary}

    def text(self, graph: Graph) -> str:
        """A graph in this form."""
        return str(importlib.import_module(self.module).dumps(graph, **self.options))


_PYTHON = (".py", "text/x-python", "python", "dali_lab.formats.python_code")
EXPORTS = (
    Export("python", "Python", "A program that runs by itself, with pipeline_def and named variables.", *_PYTHON),
    Export("pytorch", "PyTorch", "The same, with a loop over tensors of PyTorch.", *_PYTHON, {"main": "pytorch"}),
    Export("dali", "NVIDIA DALI", "A program for NVIDIA DALI itself.", *_PYTHON, {"dialect": "nvidia.dali"}),
    Export(
        "json", "Graph file", "What Save writes: everything, positions included.", ".dali.json", "application/json",
        "json", "dali_lab.formats.json_file",
    ),
    Export(
        "dot", "Graphviz", "The graph in the DOT language.", ".dot", "text/vnd.graphviz", "dot", "dali_lab.formats.dot",
    ),
)  # fmt: skip


def available() -> list[Export]:
    """The forms whose module is installed."""
    return [export for export in EXPORTS if importlib.util.find_spec(export.module) is not None]


def export_document(document: Json, to: str, title: str) -> Json:
    """The text of a document in one form, with a name for its file and what had to be left out.

    Raises
    ------
    DocumentError
        If there is no such form, or the graph cannot be written in it.
    """
    export = next((export for export in available() if export.to == to), None)
    if export is None:
        offered = ", ".join(export.to for export in available())
        raise DocumentError(f"There is no export to '{to}'; there are {offered}.", "not_found")
    warnings: list[str] = []
    if to == "json":
        text = written(document)
    else:
        graph, warnings = exportable(document)
        try:
            text = export.text(graph)
        except DaliLabError as error:
            raise DocumentError(sentence(str(error))) from error
    result = {
        "text": text,
        "filename": file_name(title) + export.suffix,
        "mime": export.mime,
        "language": export.language,
    }
    return {**result, "warnings": warnings} if warnings else result


def exportable(document: Json) -> tuple[Graph, list[str]]:
    """The part of a document that can be written down as a program, and what is left out.

    Raises
    ------
    DocumentError
        If nothing is left.
    """
    found = draft(document)
    checked = check(document)
    left_out = [name for name in (*found.graph.nodes, *found.unfinished) if name not in checked.runnable.nodes]
    warnings = [_left_out(name, checked.blocked.get(name), checked.waiting.get(name)) for name in left_out]
    graph = checked.runnable
    if not graph.nodes:
        raise DocumentError(warnings[0] if warnings else "There is nothing to export yet.")
    if not graph.outputs:
        used = {edge.node for node in graph.nodes.values() for edge in node.edges()}
        ends = tuple(name for name in graph.nodes if name not in used)
        graph = graph.replaced(outputs=tuple(Edge(name) for name in ends))
        warnings.append(f"No outputs are marked, so the last nodes are returned: {', '.join(ends)}.")
    return graph, warnings


def _left_out(name: str, problem: Any, cause: str | None) -> str:
    if problem is not None:
        return f"'{name}' is left out: {sentence(problem.message)}"
    return f"'{name}' is left out since it needs '{cause}'."


def file_name(title: str) -> str:
    """A title as a file's name."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in title.strip())
    return kept.strip("._") or "pipeline"
