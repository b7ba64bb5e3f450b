"""Finds the files of a reader and their labels: in folders, from a list in a file, or as given."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import Entry, list_folder, list_folders, read_file, reason
from dali_lab.io.locations import folder_of, is_remote, join_all
from dali_lab.model.errors import ArgumentError

IMAGE_FILTERS = (
    "*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif", "*.tiff", "*.pnm", "*.ppm", "*.pgm", "*.pbm", "*.jp2", "*.webp",
    "*.flac", "*.ogg", "*.wav",
)  # fmt: skip
"""File names that are read where no filters are given."""

_IN_ROOT = f".{os.sep}"
"""Prefix that NVIDIA DALI gives names of files in the root folder itself."""


class FileList(NamedTuple):
    """Files in the order of the reader's list.

    Attributes
    ----------
    paths
        Where to open each file.
    labels
        ``int32[N]``.
    names
        Each file as it was found or given, without the root folder: what NVIDIA DALI calls its source.
    """

    paths: list[str]
    labels: npt.NDArray[np.int32]
    names: list[str]

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The names of some of the files."""
        chosen = rows.tolist()
        return tuple(map(self.names.__getitem__, chosen))


def find_files(
    file_root: str | None = None,
    file_list: str | None = None,
    files: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
    file_filters: Sequence[str] | None = None,
    dir_filters: Sequence[str] | None = None,
    case_sensitive_filter: bool = False,
    *,
    label_folders: bool = True,
) -> FileList:
    """Find files and labels by the arguments of ``readers.file``.

    Without `files` and `file_list`, the folders in `file_root` are the classes: sorted by the bytes of their names,
    hidden and empty ones included, and numbered after `dir_filters` were applied. The files in each are sorted
    likewise. Folders within folders are not searched. Links count as what they lead to, except that a link to a
    folder within a class is taken for a file.

    Parameters
    ----------
    file_root
        Folder of classes; for `files` and `file_list` the folder that relative names are in. For `file_list` it is
        by default the folder of the list.
    file_list
        Text file with a name and a label on each line. The label is the last word, so names may hold spaces.
    files
        Names of files.
    labels
        A label for each of `files`; by default their places in it.
    file_filters, dir_filters
        Patterns of the shell, one of which a file's or folder's name must match. By default all folders, and the
        files of :data:`IMAGE_FILTERS`.
    case_sensitive_filter
        Tell capital letters from small ones when filters are applied.
    label_folders
        Without it, files in `file_root` itself are found too, before those in its folders, and all labels are 0.

    Raises
    ------
    ArgumentError
        If arguments contradict each other, something cannot be read, or nothing is found.
    """
    _check(file_root, file_list, files, labels, file_filters, dir_filters)
    given: npt.ArrayLike
    if files is not None:
        given = np.arange(len(files)) if labels is None else _as_labels(labels)
        root, names = file_root or "", [os.fspath(name) for name in files]
    elif file_list is not None:
        root = folder_of(file_list) if file_root is None else file_root
        names, given = _read_list(file_list)
    else:
        assert file_root is not None
        match_file = matcher(IMAGE_FILTERS if file_filters is None else file_filters, case_sensitive_filter)
        match_folder = None if dir_filters is None else matcher(dir_filters, case_sensitive_filter)
        root = file_root
        names, given = _search(file_root, match_file, match_folder, label_folders)
        return FileList(
            join_all(root, [name.removeprefix(_IN_ROOT) for name in names]), np.asarray(given, np.int32), names
        )
    return FileList(join_all(root, names), np.asarray(given, np.int32), names)


def find_unlabelled(
    file_root: str | None, file_list: str | None, files: Sequence[str] | None, file_filter: str
) -> FileList:
    """Find files by the arguments of readers that have no labels: :func:`find_files` with names alone in `file_list`.

    Raises
    ------
    ArgumentError
        As :func:`find_files`.
    """
    if file_list is not None and files is None:
        try:
            files = [os.fsdecode(line) for line in read_file(file_list).split(b"\n") if line]
        except OSError as error:
            raise ArgumentError(
                f"cannot read '{file_list}': {reason(error, file_list)}", argument="file_list"
            ) from error
        if not files:
            raise ArgumentError(f"No files found: '{file_list}' has no lines", argument="file_list")
        file_root = folder_of(file_list) if file_root is None else file_root
        file_list = None
    return find_files(
        file_root, file_list, files, file_filters=(file_filter,), case_sensitive_filter=True, label_folders=False
    )


def _check(
    file_root: str | None,
    file_list: str | None,
    files: Sequence[str] | None,
    labels: Sequence[int] | None,
    file_filters: Sequence[str] | None,
    dir_filters: Sequence[str] | None,
) -> None:
    if file_root is None and file_list is None and files is None:
        raise ArgumentError("give the folder of the files, or 'files' or 'file_list'", argument="file_root")
    if files is not None and file_list is not None:
        raise ArgumentError("given together with 'file_list'; give one or the other", argument="files")
    if labels is not None and files is None:
        raise ArgumentError("goes with 'files', which are not given", argument="labels")
    if files is not None and len(files) == 0:
        raise ArgumentError("``files`` specified an empty list", argument="files")
    if files is not None and labels is not None and len(labels) != len(files):
        raise ArgumentError(f"Provided {len(labels)} labels for {len(files)} files", argument="labels")
    if file_list == "":
        raise ArgumentError("is an empty name", argument="file_list")
    for name, filters in (("file_filters", file_filters), ("dir_filters", dir_filters)):
        if filters is not None and len(filters) == 0:
            raise ArgumentError("is an empty list", argument=name)


def _as_labels(labels: Sequence[int]) -> npt.NDArray[np.int64]:
    numbers = np.asarray(labels, np.int64)
    wrong = (numbers < -(2**31)) | (numbers >= 2**31)
    if wrong.any():
        raise ArgumentError(f"{numbers[wrong.argmax()]} does not fit into 32 bits", argument="labels")
    return numbers


def _read_list(file_list: str) -> tuple[list[str], list[int]]:
    """Names and labels from the lines of a file."""
    try:
        lines = read_file(file_list).split(b"\n")
    except OSError as error:
        raise ArgumentError(f"cannot read '{file_list}': {reason(error, file_list)}", argument="file_list") from error
    names: list[str] = []
    labels: list[int] = []
    for number, line in enumerate(lines, 1):
        parts = line.rsplit(None, 1)
        if not parts:
            continue
        if len(parts) != 2 or not parts[1].isdigit():
            text = line.decode(errors="replace").strip()
            raise ArgumentError(
                f"line {number} of '{file_list}' must be a file's name, a space and a label from 0 on, not '{text}'",
                argument="file_list",
            )
        label = int(parts[1])
        if label >= 2**31:
            raise ArgumentError(
                f"line {number} of '{file_list}': {label} does not fit into 32 bits", argument="file_list"
            )
        names.append(os.fsdecode(parts[0]))
        labels.append(label)
    if not names:
        raise ArgumentError(f"No files found: '{file_list}' has no lines", argument="file_list")
    return names, labels


def _search(
    root: str, match_file: Callable[[str], object], match_folder: Callable[[str], object] | None, label_folders: bool
) -> tuple[list[str], list[int]]:
    """Names relative to `root`, and labels."""
    folders = sorted(
        (
            entry.name
            for entry in entries(root, "file_root")
            if _is_folder(entry) and (match_folder is None or match_folder(entry.name))
        ),
        key=os.fsencode,
    )
    names: list[str] = []
    labels: list[int] = []
    if not label_folders:
        names += [_IN_ROOT + name for name in _files_in(entries(root, "file_root"), match_file)]
    for label, (folder, listed) in enumerate(zip(folders, _entries_of(root, folders), strict=True)):
        found = _files_in(listed, match_file)
        names += [f"{folder}{os.sep}{name}" for name in found]
        labels += [label] * len(found)
    if not names:
        if not folders and label_folders:
            what = "matches 'dir_filters'" if match_folder is not None else "is in it: each class needs one"
            raise ArgumentError(f"No files found in '{root}', because no folder {what}", argument="file_root")
        raise ArgumentError(f"No files found: none in '{root}' matches 'file_filters'", argument="file_root")
    return names, labels if label_folders else [0] * len(names)


def _is_folder(entry: Entry) -> bool:
    """Whether it is a folder or a link to one; a link that leads nowhere might be one, which would shift all labels."""
    try:
        return stat.S_ISDIR(entry.stat().st_mode) if entry.is_symlink() else entry.is_dir()
    except OSError as error:
        raise ArgumentError(
            f"cannot tell whether '{entry.path}' is a folder: {reason(error, entry.path)}", argument="file_root"
        ) from error


def _files_in(listed: Sequence[Entry], match: Callable[[str], object]) -> list[str]:
    """Names of the files and links in a folder that match, sorted by their bytes."""
    found = [
        entry.name
        for entry in listed
        if match(entry.name) and (entry.is_symlink() or entry.is_file(follow_symlinks=False))
    ]
    return sorted(found, key=os.fsencode)


def entries(folder: str, argument: str) -> list[Entry]:
    """The entries of a folder; an :class:`ArgumentError` about `argument` if it cannot be listed."""
    try:
        if not folder:
            raise FileNotFoundError
        return list_folder(folder)
    except OSError as error:
        said = reason(error, folder)
        if folder.startswith("$") and isinstance(error, FileNotFoundError):
            said = "it stands for samples of the gallery; name a folder of your own"
        raise ArgumentError(f"cannot list the folder '{folder}': {said}", argument=argument) from error


def _entries_of(root: str, folders: Sequence[str]) -> Iterator[list[Entry]]:
    """The entries of folders in `root`; remote ones are listed at the same time."""
    paths = join_all(root, folders)
    if not is_remote(root):
        yield from (entries(path, "file_root") for path in paths)
        return
    try:
        yield from list_folders(paths)
    except OSError as error:
        raise ArgumentError(f"cannot list the folders in '{root}': {reason(error)}", argument="file_root") from error


_LONGEST = 4096
"""Characters of a pattern."""


def matcher(patterns: Sequence[str], case_sensitive: bool) -> Callable[[str], object]:
    """A function that tells whether a name matches one of the patterns, by the rules of POSIX ``fnmatch``."""
    for pattern in patterns:
        if len(pattern) > _LONGEST:
            raise ArgumentError(f"a pattern has {len(pattern)} characters, and {_LONGEST} are the limit")
    expression = "|".join(f"(?:{_as_expression(pattern)})" for pattern in patterns)
    return re.compile(expression, re.DOTALL if case_sensitive else re.DOTALL | re.IGNORECASE).fullmatch


_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "punct": r"!-/:-@\[-`{-~", "space": r"\s", "xdigit": "0-9a-fA-F",
}  # fmt: skip


def _as_expression(pattern: str) -> str:
    """The regular expression for a shell pattern: ``*``, ``?``, brackets, and ``\\`` before a character as it is."""
    pieces = [""]
    i = 0
    while i < len(pattern):
        character = pattern[i]
        i += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "."
        elif character == "\\" and i < len(pattern):
            pieces[-1] += re.escape(pattern[i])
            i += 1
        elif character == "[":
            brackets, after = _brackets(pattern, i)
            pieces[-1] += brackets or re.escape("[")
            i = after if brackets else i
        else:
            pieces[-1] += re.escape(character)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    # The first place of each piece will do, so none is looked for again: many stars would take for ever.
    return first + "".join(f"(?>.*?{piece})" for piece in middle if piece) + f".*{last}"


def _brackets(pattern: str, start: int) -> tuple[str, int]:
    """The expression for the brackets that open before `start` and where they end; an empty one if they do not end."""
    i = start
    inverted = pattern[i : i + 1] in ("!", "^")
    i += inverted
    inside = ""
    first = True
    while i < len(pattern):
        character = pattern[i]
        if character == "]" and not first:
            return f"[{'^' if inverted else ''}{inside}]", i + 1
        first = False
        named = re.match(r"\[:([a-z]+):\]", pattern[i:])
        if named and named[1] in _CLASSES:
            inside += _CLASSES[named[1]]
            i += len(named[0])
            continue
        if character == "\\" and i + 1 < len(pattern):
            i += 1
            character = pattern[i]
        i += 1
        if pattern[i : i + 1] == "-" and pattern[i + 1 : i + 2] not in ("]", ""):
            last = pattern[i + 1]
            i += 2
            if last == "\\" and i < len(pattern):
                last = pattern[i]
                i += 1
            inside += f"{re.escape(character)}-{re.escape(last)}" if character <= last else ""
        else:
            inside += re.escape(character)
    return "", start
