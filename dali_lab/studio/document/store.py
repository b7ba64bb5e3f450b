"""The document of a session with what belongs to it: its file, whether it is saved, its revision and its seed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dali_lab.gallery.graphs import ENTRY_FILE
from dali_lab.graph.switches import Switch, switches
from dali_lab.studio.document.changes import applied, changes_meaning
from dali_lab.studio.document.graph_document import checked, empty_document
from dali_lab.studio.document.graph_files import (
    SUFFIX,
    Stamp,
    document_of,
    read_document,
    read_entry,
    save_document,
    title_of,
)
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.validation import CheckedDocument, check
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.permissions import Permissions, absolute, usual_roots
from dali_lab.studio.protocol.connections import Named
from dali_lab.studio.protocol.documents import Changes, Document, FileInfo, Opened

UNTITLED = "Untitled"
_MEANING = ("nodes", "outputs", "pipeline", "subgraphs")


@dataclass(frozen=True)
class Sample:
    """A graph to begin with, made when it is asked for."""

    name: str
    title: str
    summary: str
    make: Callable[[], Document]

    def entry(self) -> Named:
        """The sample as capabilities list it."""
        return Named(self.name, self.title, self.summary)


@dataclass(frozen=True)
class Found:
    """A document that was read and is to be opened, with the state of its file then."""

    document: Document
    title: str
    file: Path | None = None
    dirty: bool = False
    stamp: Stamp | None = None


class Store:
    """One document at a time; not safe to use from several threads at once.

    Parameters
    ----------
    document
        The document to begin with; by default an empty one.
    title, file
        Its title, and the file that it came from.
    root
        The folder that relative paths start from.
    recovery
        Keeps unsaved work; `None` keeps none.
    objects
        Python objects that the document names.
    permissions
        What the document may use, and where files may be; by default `root`, the person's home, and `objects`.

    Attributes
    ----------
    seed_like
        The session's other document, whose drawn seed this one uses, so that both show the same.
    """

    def __init__(
        self,
        document: Document | None = None,
        *,
        title: str = "",
        file: Path | None = None,
        root: Path | None = None,
        recovery: Recovery | None = None,
        read_only: bool = False,
        objects: Mapping[str, object] | None = None,
        permissions: Permissions | None = None,
    ) -> None:
        self.root = (root or Path.cwd()).absolute()
        self.permissions = permissions or Permissions(usual_roots(self.root))
        self.objects.update(objects or {})
        self.recovery = recovery
        self.read_only = read_only
        self.document = checked(document) if document is not None else empty_document()
        self.file = file
        self.title = title or (title_of(file.name) if file is not None else UNTITLED)
        self.dirty = False
        self.revision = 1
        self._stamp = Stamp.of(file) if file is not None else None
        self._drawn_seed = secrets.randbits(31)
        self.seed_like: Store | None = None
        self._checked: tuple[Document, dict[str, Switch], CheckedDocument] | None = None

    @property
    def objects(self) -> dict[str, object]:
        """Python objects that documents may name, by their names there."""
        return self.permissions.objects

    @property
    def seed(self) -> int:
        """The seed in use: the document's, or one drawn for this document."""
        return self.seed_of(self.document)

    def seed_of(self, document: Document) -> int:
        """The seed that a document is run with."""
        seed = document["pipeline"].get("seed")
        if isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0:
            return seed
        return (self.seed_like or self)._drawn_seed

    def file_info(self) -> FileInfo | None:
        """The file that the document is saved to."""
        return None if self.file is None else FileInfo(str(self.file), self.file.name)

    def opened(self) -> Opened:
        """The document and what belongs to it."""
        return Opened(self.document, self.revision, self.title, self.file_info(), self.dirty, self.seed)

    def checked(self) -> CheckedDocument:
        """The document's problems and runnable nodes; remembered until the meaning changes."""
        document = self.document
        switched = switches(document["view"])
        if self._checked is not None:
            before, then, found = self._checked
            if switched == then and all(before.get(part) is document.get(part) for part in _MEANING):
                return found
        found = check(document, self.permissions)
        self._checked = document, switched, found
        return found

    def forget_checks(self) -> None:
        """Discard the remembered check, as the operators have changed."""
        self._checked = None

    def edit(self, changes: Changes, placed: bool = False) -> bool:
        """Apply changes; whether results may differ.

        Parameters
        ----------
        placed
            Whether they only give nodes the places at which an editor draws them: what is saved stays so.

        Raises
        ------
        DocumentError
            If the document is read-only, or the changes cannot be understood.
        """
        if self.read_only:
            raise DocumentError("This graph is read-only. Save it under another name to change it.", "read_only")
        before = self.document
        self.document = applied(before, changes)
        meaning = changes_meaning(changes, before)
        self.revision += 1
        self.dirty |= meaning or not placed
        return meaning

    def replace(
        self, document: Document, *, title: str = UNTITLED, file: Path | None = None, dirty: bool = False
    ) -> None:
        """Take another document in place of this one."""
        self.document = checked(document)
        self.title = title
        self.file = file
        self.dirty = dirty
        self.revision += 1
        self._stamp = Stamp.of(file) if file is not None else None
        self._drawn_seed = secrets.randbits(31)
        self.keep()

    def open_own(self, path: str) -> None:
        """Open a file that the person named outside of the editor; its folder may be used from then on.

        Raises
        ------
        DocumentError
            If it cannot be opened; the document stays as it was.
        """
        place = absolute(path, self.root)
        self.permissions.roots.allow(place if place.is_dir() else place.parent)
        self.take(self.find(path))

    def take(self, found: Found) -> None:
        """Open a document that was read."""
        self.replace(found.document, title=found.title, file=found.file, dirty=found.dirty)
        if found.file is not None:
            self._stamp = found.stamp

    def find(self, path: str, pipeline: str | None = None) -> Found:
        """Read a file, or the entry in a folder of a gallery; `pipeline` names one in a program with several.

        Raises
        ------
        DocumentError
            If it cannot be opened.
        """
        place = self.resolve(path)
        if (place / ENTRY_FILE).is_file():
            with self.permissions.roots.limiting():
                title, document = read_entry(place)
            return Found(document, title, dirty=True)
        document, stamp = read_document(place, self.permissions.root(place), pipeline)
        title = title_of(place.name)
        if not place.name.endswith(".json"):
            # Saving writes graph files only, so it must not be offered to write over a program or a picture.
            return Found(document, title, dirty=True)
        return Found(document, title, place, stamp=stamp)

    def read(self, text: str, name: str = "", pipeline: str | None = None) -> Found:
        """Read a text that was dropped or pasted: a graph file, or a program, whose `pipeline` of this name is meant.

        Raises
        ------
        DocumentError
            If it is neither.
        """
        document = document_of(text.encode("utf-8", "replace"), pipeline, name)
        return Found(document, title_of(name) or UNTITLED, dirty=True)

    def save(self, path: str | None, overwrite: bool) -> None:
        """Write the document to a file.

        Raises
        ------
        DocumentError
            With a code that says whether to ask for another name or for leave to overwrite.
        """
        if path is None:
            if self.file is None:
                raise DocumentError("This graph has no file yet: give it a name.", "not_found")
            path = str(self.file)
        elif not path.strip().endswith(".json"):
            path += SUFFIX
        place = self.resolve(path, write=True)
        known = self.file is not None and _same_file(place, self.file)
        try:
            self._stamp = save_document(
                self.document, place, self.permissions.root(place), self._stamp, known=known, overwrite=overwrite
            )
        except OSError as error:
            raise DocumentError(f"The file cannot be written: {error.strerror or error}.") from error
        self.file = place
        self.title = title_of(place.name)
        self.dirty = False
        self.read_only = False
        self.keep()

    def keep(self) -> str | None:
        """Write unsaved work to its recovery file, or remove that file when there is none; the reason if it cannot."""
        if self.recovery is None:
            return None
        if self.dirty:
            return self.recovery.keep(self.document, self.file, self.title)
        self.recovery.forget()
        return None

    def resolve(self, path: str, *, write: bool = False) -> Path:
        """A path as people write it: absolute, links resolved, and where this session may read or write.

        Raises
        ------
        DocumentError
            With the code ``outside`` and the permission that lacks, or ``not_found`` if it is no path.
        """
        return self.permissions.place(path, self.root, write=write)


def _same_file(left: Path, right: Path) -> bool:
    try:
        return left == right or os.path.samefile(left, right)
    except OSError:
        return False
