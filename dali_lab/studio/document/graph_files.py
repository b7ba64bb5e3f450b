"""Reads graph documents from files of any form, and saves them without overwriting the changes of others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dali_lab.formats import FORMATS, detected, loads
from dali_lab.formats.disk import read_below, write_below
from dali_lab.formats.paths import placing, resolving
from dali_lab.formats.python.programs import decoded
from dali_lab.formats.registry import beginning
from dali_lab.formats.secrets import refuse_secrets_in
from dali_lab.gallery import load_entry
from dali_lab.gallery.places import sample_folder
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.studio.document.graph_document import checked, of_graph, parsed, with_paths, written
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.protocol.documents import Document

SUFFIX = ".dali.json"


@dataclass(frozen=True)
class Stamp:
    """The state of a file when it was read or written, to notice that somebody else wrote it."""

    changed: int
    size: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The present state, or `None` where there is no file."""
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(found.st_mtime_ns, found.st_size)


def read_document(path: Path, root: Path, pipeline: str | None = None) -> tuple[Document, Stamp | None]:
    """The document in a file in the folder `root`, and the file's state; `pipeline` names one of several in a program.

    Paths of a graph file that start at its folder become absolute.

    Raises
    ------
    DocumentError
        With the code ``not_found``, ``unreadable`` or ``newer_version``.
    """
    stamp = Stamp.of(path)
    if stamp is None and not path.exists():
        raise DocumentError(f"There is no file {path}.", "not_found")
    try:
        content = read_below(root, path)
    except FormatError as error:
        raise DocumentError(f"{path} {error.message}.", "unreadable") from error
    document = document_of(content, pipeline, path.name)
    form = detected(content) if beginning(content) else None
    return with_paths(document, resolving(path)) if form is not None and form.movable else document, stamp


def read_entry(folder: Path) -> tuple[str, Document]:
    """The title of an entry of a gallery, and its graph over the samples as a document.

    Raises
    ------
    DocumentError
        With the code ``unreadable``.
    """
    try:
        entry = load_entry(folder)
        return entry.title, of_graph(entry.over())
    except DaliLabError as error:
        raise DocumentError(sentence(str(error)), "unreadable") from error


def document_of(content: bytes, pipeline: str | None = None, name: str = "") -> Document:
    """The document in the content of a file of any form: a graph file, a program, a serialized pipeline, a picture.

    Nothing in it is executed. `pipeline` names one in a program with several; a file with a `name` in ``.py`` is a
    program.

    Raises
    ------
    DocumentError
        With the code ``unreadable`` or ``newer_version``; for a program that must be run, or that one of several is to
        be chosen of, ``needs_running`` or ``choose``.
    """
    from dali_lab.studio.document import programs

    # A graph would drop keys that the editor does not know, so a graph file is not read through one.
    form = detected(content, name) if beginning(content) or name.endswith(".py") else FORMATS["json"]
    if form is FORMATS["json"]:
        return over_samples(parsed(content))
    if form is FORMATS["python"]:
        return programs.opened(programs.Program(decoded(content)), pipeline)
    try:
        return over_samples(checked(of_graph(loads(content))))
    except DocumentError:
        raise
    except DaliLabError as error:
        said = _NEITHER if form is None or (form.binary and _is_text(content)) else sentence(error.message)
        raise DocumentError(said, "unreadable") from error


_NEITHER = "This is neither a graph nor a Python program that defines a pipeline."


def _is_text(content: bytes) -> bool:
    """Whether people can read a content: serialized pipelines and pictures have control characters."""
    try:
        return all(letter >= " " or letter.isspace() for letter in content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def over_samples(document: Document) -> Document:
    """The document with folders of samples in place of placeholders such as ``$photographs``, as the gallery has them.

    Raises
    ------
    DocumentError
        With the code ``unreadable``, if it reads samples that cannot be made here.
    """
    for name, node in document["nodes"].items():
        found = {}
        for argument, value in node.get("arguments", {}).items():
            if isinstance(value, str) and value.startswith("$"):
                try:
                    folder = sample_folder(value)
                except DaliLabError as error:
                    said = f"'{name}' reads samples, {value}, that are not there: {error.message}"
                    raise DocumentError(sentence(said), "unreadable") from error
                if folder is not None:
                    found[argument] = folder
        if found:
            arguments = {**node["arguments"], **found}
            document = {**document, "nodes": {**document["nodes"], name: {**node, "arguments": arguments}}}
    return document


def save_document(
    document: Document, path: Path, root: Path, expected: Stamp | None, *, known: bool, overwrite: bool
) -> Stamp | None:
    """Write a document to a file in one step; the paths of what lies beside it start at the file's folder.

    Parameters
    ----------
    path, root
        The file, and a folder that it is in; no link is followed on the way from there.
    expected
        State of the file when it was last read or written by us.
    known
        Whether it is the file that the document came from.
    overwrite
        Write even if another file, or a newer state of this one, is there.

    Raises
    ------
    DocumentError
        With the code ``exists``, ``stale`` or ``failed``.
    """
    present = Stamp.of(path)
    if present is not None and not overwrite:
        if not known:
            raise DocumentError(f"{path.name} is already there.", "exists")
        if present != expected:
            raise DocumentError(f"{path.name} was changed by another program since it was opened.", "stale")
    if path.is_dir():
        raise DocumentError(f"{path} is a folder.")
    if not path.parent.is_dir():
        raise DocumentError(f"There is no folder {path.parent}.", "not_found")
    ours = path.name.endswith(SUFFIX)
    if present is not None and present.size and not ours and not _is_graph(root, path):
        raise DocumentError(f"{path.name} is no graph, and is not written over: choose another name.")
    try:
        refuse_secrets_in(document)
    except FormatError as error:
        raise DocumentError(sentence(error.message), "failed") from error
    try:
        write_below(root, path, written(with_paths(document, placing(path))).encode("utf-8"))
    except FormatError as error:
        raise DocumentError(f"{path.name} {error.message}.") from error
    return Stamp.of(path)


def _is_graph(root: Path, path: Path) -> bool:
    """Whether a file holds a graph, of whatever version: settings of other programs are JSON, too."""
    try:
        found = json.loads(read_below(root, path))
    except (FormatError, ValueError):
        return False
    return isinstance(found, dict) and isinstance(found.get("nodes"), (dict, list))


def title_of(name: str) -> str:
    """A file's name without what tells its kind."""
    for suffix in (SUFFIX, ".json", ".py", ".html", ".png"):
        if name.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name
