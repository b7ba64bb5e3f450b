"""Exports a document: Python, the project's file, Graphviz and others."""

from __future__ import annotations

from collections.abc import Mapping

from dali_lab.formats import FORMATS, Format, dumps
from dali_lab.formats.disk import PathLike
from dali_lab.formats.others.programs import LIBRARIES
from dali_lab.formats.paths import beside, placing
from dali_lab.graph.graph import Graph
from dali_lab.graph.verification import Problem
from dali_lab.model.errors import DaliLabError, nearest
from dali_lab.studio.document.graph_document import draft, with_paths, written
from dali_lab.studio.document.validation import check
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.protocol.connections import ExportFormat
from dali_lab.studio.protocol.documents import Document, Exported, ExportedFile

# Title, description and highlighting language of each export form.
_SHOWN = {
    "python": ("Python", "A program that runs by itself, with pipeline_def and named variables.", "python"),
    "pytorch": ("PyTorch", "The same, with a loop over tensors of PyTorch.", "python"),
    "ray": ("Ray", "The same, with batches that a Ray cluster computes.", "python"),
    "nvidia-python": ("NVIDIA DALI", "A program for NVIDIA DALI itself.", "python"),
    "torchvision": ("torchvision", "The same steps as torchvision transforms, as far as there are any.", "python"),
    "albumentations": ("albumentations", "The same steps as albumentations has them, as far as it does.", "python"),
    "keras": ("Keras", "The same steps as layers of Keras, as far as there are any.", "python"),
    "json": ("Graph file", "What Save writes: everything, positions included.", "json"),
    "dot": ("Graphviz", "The graph in the DOT language.", "dot"),
}
_MIME = {"python": "text/x-python", "json": "application/json", "dot": "text/vnd.graphviz"}
_FILES = {
    "report": (
        "Report (HTML)",
        "A page with the drawing, every step with its pictures and draws, the cost and the code; opens as the graph.",
        "",
    ),
    "dali-serialized": ("NVIDIA DALI, serialized", "What NVIDIA DALI's Pipeline.deserialize reads.", ""),
    "svg": ("Picture (SVG)", "The graph as a drawing.", ""),
    "png": ("Picture (PNG)", "The graph as a picture, with the graph inside. Needs Graphviz.", ""),
    "pdf": ("Picture (PDF)", "The graph as a picture. Needs Graphviz.", ""),
}
_FILE_MIME = {
    "report": "text/html",
    "dali-serialized": "application/octet-stream",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
}


def is_file(to: str) -> bool:
    """Whether a form is a file rather than text."""
    form = FORMATS.get(to)
    return form is not None and form.binary


def available(*, files: bool = False) -> list[ExportFormat]:
    """The forms that are text, or those that are files, as capabilities list them."""
    if files:
        shown = [(name, _FILES.get(name) or (name, sentence(form.title), "")) for name, form in FORMATS.items()]
        return [ExportFormat(name, title, summary) for name, (title, summary, _) in shown if is_file(name)]
    order = [*_SHOWN, *(name for name in FORMATS if name not in _SHOWN)]
    entries = []
    for form in (FORMATS[name] for name in order if name in FORMATS):
        if not form.binary:
            entries.append(ExportFormat(form.name, *_shown(form)))
    return entries


def _shown(form: Format) -> tuple[str, str, str]:
    return _SHOWN.get(form.name) or (form.name, sentence(form.title), "text")


def export_document(document: Document, to: str, title: str, file: PathLike | None = None) -> Exported:
    """The text of a document in one form, with a name for its file and what had to be left out.

    Parameters
    ----------
    file
        Where the text will lie: paths of what lies beside it start there.

    Raises
    ------
    DocumentError
        If there is no such form, or the graph cannot be written in it.
    """
    form = FORMATS.get(to)
    if form is None:
        raise DocumentError(
            f"There is no export to '{to}'{nearest(to, FORMATS)}; exports: {', '.join(FORMATS)}.", "not_found"
        )
    if form.binary:
        raise DocumentError(f"'{to}' is a binary form and cannot be shown as text; save it to a file.", "not_found")
    warnings: list[str] = []
    if to == "json":
        text = written(document if file is None else with_paths(document, placing(file)))
    else:
        graph, warnings = exportable(document)
        here = form.program and file is not None
        graph = beside(graph, file) if here and file is not None else graph
        try:
            text = dumps(graph, to, **({"here": True} if here else {})).decode("utf-8")
            warnings += [sentence(item) for item in form.lost(graph) if form.name in LIBRARIES]
        except DaliLabError as error:
            raise DocumentError(sentence(str(error))) from error
    language = _shown(form)[2]
    filename, mime = file_name(title) + form.endings[0], _MIME.get(language, "text/plain")
    return Exported(text, filename, mime, language, warnings or None)


def export_file(
    document: Document, to: str, title: str, options: Mapping[str, object] | None = None
) -> tuple[ExportedFile, bytes]:
    """A document as a file of one form: what the protocol says of it, and its content.

    Parameters
    ----------
    options
        For the form.

    Raises
    ------
    DocumentError
        If the graph cannot be written in this form.
    """
    graph, warnings = exportable(document)
    try:
        content = dumps(graph, to, **(options or {}))
    except DaliLabError as error:
        raise DocumentError(sentence(str(error))) from error
    filename, mime = file_name(title) + FORMATS[to].endings[0], _FILE_MIME.get(to, "application/octet-stream")
    return ExportedFile(0, len(content), filename, mime, warnings or None), content


def exportable(document: Document) -> tuple[Graph, list[str]]:
    """The part of a document that can be written down as a program, and what is left out.

    Raises
    ------
    DocumentError
        If nothing is left.
    """
    found = draft(document)
    checked = check(document)
    left_out = [name for name in (*found.graph.nodes, *found.unfinished) if name not in checked.runnable.nodes]
    warnings = [sentence(problem.message) for problem in checked.missing]
    warnings += [_left_out(name, checked.blocked.get(name), checked.waiting.get(name)) for name in left_out]
    graph = checked.runnable
    if not graph.nodes:
        raise DocumentError(warnings[0] if warnings else "There is nothing to export yet.")
    if not graph.outputs and checked.missing:
        raise DocumentError("No output is left. " + " ".join(warnings))
    graph, note = checked.with_ends()
    return graph, warnings if note is None else [*warnings, note]


def _left_out(name: str, problem: Problem | None, cause: str | None) -> str:
    if problem is not None:
        return f"'{name}' is left out: {sentence(problem.message)}"
    return f"'{name}' is left out since it needs '{cause}'."


def file_name(title: str) -> str:
    """A title as a file's name."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in title.strip())
    return kept.strip("._") or "pipeline"
