"""Folder listings for file dialogs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dali_lab.codecs.encoded import IMAGE_SUFFIXES
from dali_lab.formats import FORMATS
from dali_lab.io.files import Entry, RemoteEntry, list_folder
from dali_lab.io.locations import folder_of, shown, without_end
from dali_lab.io.roots import reach
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.protocol.documents import Listing, ListingEntry

MOST_ENTRIES = 2000
_MOST_COUNTED = 5000
_GRAPHS = tuple(
    ending
    for form in FORMATS.values()
    if form.loads is not None
    for ending in form.endings
    if ending != ".json" and ending not in IMAGE_SUFFIXES
)
"""Endings of files that hold graphs: settings of other programs are JSON, too, and most pictures hold none."""


def listing(path: Path, kinds: tuple[str, ...] = ("any",)) -> Listing:
    """The entries of a folder: folders first, hidden ones left out.

    Raises
    ------
    DocumentError
        With the code ``not_found`` or ``unreadable``.
    """
    if not path.exists():
        raise DocumentError(f"There is no folder {path}.", "not_found")
    if not path.is_dir():
        raise DocumentError(f"{path} is not a folder.", "not_found")
    try:
        with os.scandir(path) as found:
            names = sorted(
                (entry for entry in found if not entry.name.startswith(".")), key=lambda e: e.name.casefold()
            )
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}.", "unreadable") from error
    folders: list[ListingEntry] = []
    files: list[ListingEntry] = []
    for entry in names:
        kind = _kind(entry)
        if kind == "folder":
            if len(folders) < MOST_ENTRIES:
                folders.append(ListingEntry(entry.name, entry.path, kind, images=count_images(entry.path)))
        elif "any" in kinds or kind in kinds:
            with contextlib.suppress(OSError):
                reach(entry.path)
                files.append(ListingEntry(entry.name, entry.path, kind, entry.stat().st_size))
    entries = [*folders, *files]
    parent = path.parent if path.parent != path else None
    truncated = len(entries) > MOST_ENTRIES or len(folders) == MOST_ENTRIES
    return Listing(str(path), None if parent is None else str(parent), entries[:MOST_ENTRIES], truncated)


def remote_listing(url: str, kinds: tuple[str, ...] = ("any",)) -> Listing:
    """The entries of a folder in a store, as :func:`listing` gives them.

    Raises
    ------
    DocumentError
        With the code ``unreadable``.
    """
    place = without_end(url)
    try:
        found = sorted(list_folder(place), key=lambda entry: entry.name.casefold())
    except OSError as error:
        raise DocumentError(f"{shown(place)} cannot be read: {error.strerror or error}.", "unreadable") from error
    visible = [entry for entry in found if not entry.name.startswith(".")]
    folders = [ListingEntry(entry.name, entry.path, "folder") for entry in visible if entry.is_dir()]
    files = [
        ListingEntry(entry.name, entry.path, kind, size if size >= 0 else None)
        for entry in visible
        if isinstance(entry, RemoteEntry) and not entry.is_dir()
        for kind, size in ((_kind(entry), entry.size),)
        if "any" in kinds or kind in kinds
    ]
    entries = [*folders, *files]
    parent = folder_of(place) if "/" in place.rpartition("://")[2] else None
    return Listing(place, parent, entries[:MOST_ENTRIES], len(entries) > MOST_ENTRIES)


def _kind(entry: Entry) -> str:
    with contextlib.suppress(OSError):
        if entry.is_dir():
            return "folder"
    name = entry.name.lower()
    if name.endswith(_GRAPHS):
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
                reach(name)
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
