"""Finds labels without files and files without labels, beside the list of a reader, in local folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from dali_lab.io.files import Entry
from dali_lab.io.locations import is_remote
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.file_list import entries

_NAMED = 3


class Unmatched(NamedTuple):
    """Labels without files, or files without labels: how many of a kind, and the first ones."""

    kind: Literal["without_label", "without_file"]
    message: str


def unmatched(kind: Literal["without_label", "without_file"], names: Sequence[str], what: str) -> Iterator[Unmatched]:
    """A sentence about names, if there are any, which `what` begins."""
    if names:
        first = ", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
        yield Unmatched(kind, f"{what}: {len(names):,} ({first})")


def unread_in_folders(root: str, labels: Callable[[str], object] | None, found: Iterable[str]) -> Iterator[Unmatched]:
    """Files that a reader of a folder for each label does not read, and folders without files.

    Parameters
    ----------
    labels
        Tells whether the name of a folder is that of a label; `None` takes all.
    found
        Paths of the files that are read.
    """
    if is_remote(root):
        return
    read = set(found)
    used = {os.path.dirname(path) for path in read}
    loose, others, nested, empty = [], [], [], []
    for entry in _listed(root):
        if not entry.is_dir():
            loose.append(entry.name)
            continue
        if labels is not None and not labels(entry.name):
            continue
        if entry.path not in used:
            empty.append(entry.name)
        for inner in _listed(entry.path):
            name = f"{entry.name}{os.sep}{inner.name}"
            if inner.is_dir():
                nested.append(name)
            elif inner.path not in read:
                others.append(name)
    yield from unmatched("without_label", sorted(loose), f"files in '{root}' itself, in no folder of a label")
    yield from unmatched("without_label", sorted(others), "files that 'file_filters' leaves out")
    yield from unmatched("without_label", sorted(nested), "folders within those of labels, which are not read")
    yield from unmatched("without_file", sorted(empty), "labels whose folder has no file to read")


def unlisted_files(paths: Iterable[str], match: Callable[[str], object], what: str) -> Iterator[Unmatched]:
    """Files in the folders of listed ones that are not listed themselves; `what` as for :func:`unmatched`."""
    listed = {os.path.normpath(path) for path in paths if not is_remote(path)}
    folders = sorted({os.path.dirname(path) for path in listed})
    rest = [
        entry.path
        for folder in folders
        for entry in _listed(folder or os.curdir)
        if match(entry.name) and not entry.is_dir() and os.path.normpath(entry.path) not in listed
    ]
    yield from unmatched("without_label", sorted(rest), what)


def _listed(folder: str) -> list[Entry]:
    """The entries of a folder that are not hidden; none where it cannot be listed."""
    try:
        return [entry for entry in entries(folder, "") if not entry.name.startswith(".")]
    except ArgumentError:
        return []
