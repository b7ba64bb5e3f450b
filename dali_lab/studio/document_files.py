"""Files of the studio: graphs opened and saved with care for what is on disk, folders listed, unsaved work kept."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dali_lab.cache_folder import cache_folder
from dali_lab.codecs.encoded import IMAGE_SUFFIXES
from dali_lab.formats import loads, program_in
from dali_lab.formats.disk import write_text
from dali_lab.formats.json import graph_file as json_file
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.studio.documents import DocumentError, checked, parsed, sentence, written

Json = dict[str, Any]

SUFFIX = ".dali.json"
MOST_ENTRIES = 2000
_MOST_COUNTED = 5000


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


def read_document(path: Path, pipeline: str | None = None) -> tuple[Json, Stamp | None]:
    """The document in a file, and the file's state.

    Parameters
    ----------
    pipeline
        Which one, for a program with several.

    Raises
    ------
    DocumentError
        With the code ``not_found``, ``unreadable`` or ``newer_version``.
    """
    stamp = Stamp.of(path)
    if stamp is None and not path.exists():
        raise DocumentError(f"There is no file {path}.", "not_found")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}.", "unreadable") from error
    return document_of(content, pipeline), stamp


def read_entry(folder: Path) -> tuple[str, Json]:
    """The title of an entry of a gallery, and its graph over the samples as a document.

    Raises
    ------
    DocumentError
        With the code ``unreadable``.
    """
    from dali_lab.gallery import load_entry

    try:
        entry = load_entry(folder)
        return entry.title, json_file.to_document(entry.over())
    except DaliLabError as error:
        raise DocumentError(sentence(str(error)), "unreadable") from error


def document_of(content: bytes, pipeline: str | None = None) -> Json:
    """The document in the content of a file of any form: a graph file, a program, a serialized pipeline, a picture.

    Nothing in it is executed.

    Parameters
    ----------
    pipeline
        Which one, for a program with several.

    Raises
    ------
    DocumentError
        With the code ``unreadable`` or ``newer_version``; for a program that must be run, or that one of several is to
        be chosen of, ``needs_running`` or ``choose``.
    """
    from dali_lab.studio import programs

    # What an editor does not know in a graph file must stay, so it does not go through a graph.
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"[", b""):
        return parsed(content)
    program = program_in(content)
    if program is not None:
        return programs.opened(programs.Program(program), pipeline)
    try:
        return checked(json_file.to_document(loads(content)))
    except DocumentError:
        raise
    except DaliLabError as error:
        raise DocumentError(sentence(error.message), "unreadable") from error


def save_document(document: Json, path: Path, expected: Stamp | None, *, known: bool, overwrite: bool) -> Stamp | None:
    """Write a document to a file in one step.

    Parameters
    ----------
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
    try:
        write_text(path, written(document))
    except FormatError as error:
        raise DocumentError(f"{path.name} {error.message}.") from error
    return Stamp.of(path)


def title_of(name: str) -> str:
    """A file's name without what tells its kind."""
    for suffix in (SUFFIX, ".json", ".py"):
        if name.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def listing(path: Path, kinds: tuple[str, ...] = ("any",)) -> Json:
    """What is in a folder, as the protocol writes it: folders first, hidden ones left out.

    Raises
    ------
    DocumentError
        With the code ``not_found`` or ``unreadable``.
    """
    if not path.exists():
        raise DocumentError(f"There is no folder {path}.", "not_found")
    if not path.is_dir():
        raise DocumentError(f"{path} is no folder.", "not_found")
    try:
        with os.scandir(path) as found:
            names = sorted(
                (entry for entry in found if not entry.name.startswith(".")), key=lambda e: e.name.casefold()
            )
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}.", "unreadable") from error
    folders: list[Json] = []
    files: list[Json] = []
    for entry in names:
        kind = _kind(entry)
        if kind == "folder":
            if len(folders) < MOST_ENTRIES:
                folders.append(
                    {"name": entry.name, "path": entry.path, "kind": kind, "images": count_images(entry.path)}
                )
        elif "any" in kinds or kind in kinds:
            with contextlib.suppress(OSError):
                files.append({"name": entry.name, "path": entry.path, "kind": kind, "size": entry.stat().st_size})
    entries = [*folders, *files]
    parent = path.parent if path.parent != path else None
    result: Json = {
        "path": str(path),
        "parent": None if parent is None else str(parent),
        "entries": entries[:MOST_ENTRIES],
    }
    if len(entries) > MOST_ENTRIES or len(folders) == MOST_ENTRIES:
        result["truncated"] = True
    return result


def _kind(entry: os.DirEntry[str]) -> str:
    with contextlib.suppress(OSError):
        if entry.is_dir():
            return "folder"
    name = entry.name.lower()
    if name.endswith((SUFFIX, ".py")):
        return "graph"
    return "image" if os.path.splitext(name)[1] in IMAGE_SUFFIXES else "file"


def count_images(folder: str | os.PathLike[str]) -> int:
    """Pictures in a folder and in the folders directly in it, as far as a quick look tells."""
    total = seen = 0
    folders = [os.fspath(folder)]
    depth = 0
    while folders and depth < 2:
        inner = []
        for name in folders:
            try:
                with os.scandir(name) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > _MOST_COUNTED:
                            return total
                        if os.path.splitext(entry.name)[1].lower() in IMAGE_SUFFIXES:
                            total += 1
                        elif entry.is_dir():
                            inner.append(entry.path)
            except OSError:
                continue
        folders, depth = inner, depth + 1
    return total


class Recovery:
    """Keeps unsaved work in a file of its own, so that a crash loses nothing.

    Parameters
    ----------
    folder
        Where such files are.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "recovery"
        self.path = self.folder / f"{os.getpid()}-{time.time_ns() % 10**9:09d}{SUFFIX}"

    def keep(self, document: Json, file: Path | None, title: str) -> None:
        """Write what is not saved yet; failing to do so must not get in the way of the work itself."""
        kept = {
            **document,
            "recovered": {"file": None if file is None else str(file), "title": title, "process": os.getpid()},
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.path, written(kept))
        except (OSError, FormatError):
            pass

    def forget(self) -> None:
        """Nothing is unsaved any more."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def take(self) -> tuple[Json, Path | None, str] | None:
        """The newest unsaved work of a process that is gone, which is then ours; `None` if there is none."""
        try:
            found = sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
        except OSError:
            return None
        for path in found:
            try:
                raw = json.loads(path.read_text("utf-8"))
                about = raw.pop("recovered")
                process = int(about["process"])
                document = checked(raw)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
            if process != os.getpid() and _alive(process):
                continue
            if path == self.path:
                continue
            self.keep(document, about.get("file") and Path(about["file"]), str(about.get("title") or ""))
            with contextlib.suppress(OSError):
                path.unlink()
            file = about.get("file")
            return document, Path(file) if file else None, str(about.get("title") or "Recovered")
        return None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
