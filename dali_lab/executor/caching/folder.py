"""The folder of a cache: its parts, what they take and what they are worth, and making room.

A cache folder has a part for each meaning of a graph's unchanging beginning, a folder named by a digest. In it every
process that fills the part has files of its own: ``….data`` with samples one after the other, and ``….index``
(:mod:`dali_lab.executor.caching.index_file`). Both only grow, so others can read them at any time.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dali_lab.executor.caching.entries import OFFSET, STORED, SUM, Form, Rows
from dali_lab.executor.caching.index_file import INDEX, read_index
from dali_lab.io.roots import reach_to_write
from dali_lab.model.errors import ArgumentError

MARK = "dali-lab-cache.json"
FORMAT = 2
ABOUT = "about.json"
DATA = ".data"
CHOICE = ".choice.json"
"""End of the name of a file that tells what was chosen to be kept of a graph, for all that share the folder."""
_IN_USE = 600.0
"""Seconds since files were last opened in which nothing of them is given up for others."""
_FORGOTTEN = 7 * 86400.0
"""Seconds without use after which files are given up whatever they are worth."""
_ABANDONED = 3600.0
"""Seconds since data without an index were last written after which they are thrown away."""


class UnusableCacheError(OSError):
    """A folder that cannot be used as a cache now; the message says why."""


@dataclass(frozen=True)
class Part:
    """One part of a cache folder.

    Attributes
    ----------
    name
        Its folder in the cache folder.
    meaning
        The operators that it keeps the results of, and what else they depend on; empty if it cannot be read.
    nbytes
        What it takes.
    samples
        How many samples its indexes list.
    seconds
        CPU time that computing them took.
    used
        When it was last opened or written, in seconds since 1970.
    """

    name: str
    meaning: str
    nbytes: int
    samples: int
    seconds: float
    used: float


def open_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder ready to be a cache, and return it.

    Raises
    ------
    ArgumentError
        If it is something else: a file, or a folder with other files.
    UnusableCacheError
        If it is the cache of another version, or cannot be written to.
    """
    root = Path(folder).expanduser()
    mark = root / MARK
    try:
        reach_to_write(root)
        root.mkdir(parents=True, exist_ok=True)
        if not mark.exists():
            if any(not name.startswith(MARK) for name in os.listdir(root)):
                raise ArgumentError(
                    f"the folder '{root}' holds other files; name a folder that is empty or not there", argument="cache"
                )
            write_whole(mark, json.dumps({"format": FORMAT}).encode())
        content = mark.read_bytes()
    except FileExistsError:
        raise ArgumentError(f"'{root}' is a file; name a folder", argument="cache") from None
    except OSError as error:
        raise UnusableCacheError(f"the folder '{root}' cannot be written to: {error.strerror or error}") from error
    except ArgumentError:
        raise
    check_mark(content, str(root))
    return root


def check_mark(content: bytes, root: str) -> None:
    """Check the mark of a cache folder.

    Raises
    ------
    UnusableCacheError
        If it is damaged, or that of another version.
    """
    try:
        found = json.loads(content)["format"]
    except (ValueError, KeyError, TypeError):
        raise UnusableCacheError(
            f"'{root}/{MARK}' is damaged; remove the cache with: dali-lab cache rm {root}"
        ) from None
    if found != FORMAT:
        raise UnusableCacheError(
            f"'{root}' was written by another version (format {found!r:.20}, this is {FORMAT});"
            f" remove it with: dali-lab cache rm {root}"
        )


def part_name(meaning: str) -> str:
    """The name of the folder of a part."""
    return hashlib.sha256(meaning.encode()).hexdigest()[:32]


def open_part(root: Path, meaning: str) -> Path:
    """The folder of the part with a meaning, made if it is not there.

    Raises
    ------
    UnusableCacheError
        If it cannot be written to, or is that of another meaning.
    """
    path = root / part_name(meaning)
    about = path / ABOUT
    try:
        path.mkdir(exist_ok=True)
        if not about.exists():
            write_whole(about, json.dumps({"meaning": meaning}).encode())
        if json.loads(about.read_bytes()) != {"meaning": meaning}:
            raise ValueError
    except OSError as error:
        raise UnusableCacheError(f"the folder '{path}' cannot be written to: {error.strerror or error}") from error
    except ValueError:
        raise UnusableCacheError(f"'{about}' is damaged; remove the folder '{path}'") from None
    _remove_abandoned(path)
    return path


def _remove_abandoned(path: Path) -> None:
    """Remove data that a killed process left without an index."""
    with contextlib.suppress(OSError):
        for data in path.glob(f"*{DATA}"):
            if not data.with_suffix(INDEX).exists() and time.time() - data.stat().st_mtime > _ABANDONED:
                data.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_new(path: Path, content: bytes) -> None:
    """Write a file whole, unless it is there already."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name) as folder:
        whole = Path(folder) / "whole"
        whole.write_bytes(content)
        with contextlib.suppress(FileExistsError):
            os.link(whole, path)


def parts(root: Path) -> Iterator[Part]:
    """The parts of a cache folder, in the order of their names."""
    for path in sorted(root.iterdir()):
        if not path.is_dir():
            continue
        try:
            meaning = str(json.loads((path / ABOUT).read_bytes())["meaning"])
        except (OSError, ValueError, KeyError, TypeError):
            meaning = ""
        nbytes = samples = 0
        seconds = used = 0.0
        try:
            files = list(path.iterdir())
        except FileNotFoundError:  # another process has removed it
            continue
        for file in files:
            with contextlib.suppress(OSError):
                status = file.stat()
                nbytes += status.st_size
                used = max(used, status.st_mtime)
                if file.suffix == INDEX:
                    index = read_index(file)
                    samples, seconds = samples + index.samples, seconds + index.seconds
        yield Part(path.name, meaning, nbytes, samples, seconds, used)


def used_bytes(root: Path) -> int:
    """Bytes that the data of a cache folder take."""
    total = 0
    for data in _data(root):
        with contextlib.suppress(OSError):
            total += data.stat().st_size
    return total


def _data(root: Path) -> Iterator[Path]:
    """Files with data of all parts; other processes may remove files and folders meanwhile."""
    return map(Path, glob.iglob(f"{glob.escape(str(root))}/*/*{DATA}"))


def make_room(root: Path, own: Path, nbytes: int, worth: float) -> int:
    """Remove what costs less to make again than new data, from parts that are not in use; returns the bytes freed.

    Parameters
    ----------
    root, own
        The cache folder, and the part that needs room, of which nothing is removed.
    nbytes
        Bytes to free.
    worth
        CPU seconds that a byte of the new data took.
    """
    now = time.time()
    candidates = []
    for data in _data(root):
        if data.parent == own:
            continue
        with contextlib.suppress(OSError):
            index = data.with_suffix(INDEX)
            size, used = data.stat().st_size, index.stat().st_mtime
            value = read_index(index).seconds / max(1, size)
            if now - used > _FORGOTTEN or (now - used > _IN_USE and value < worth):
                candidates.append((value, size, data, index))
    freed = 0
    for _, size, data, index in sorted(candidates, key=lambda each: each[0]):
        if freed >= nbytes:
            break
        with contextlib.suppress(OSError):
            index.unlink()
            data.unlink()
            freed += size
    return freed


def remove(root: Path) -> None:
    """Remove what a cache has written into its folder, and the folder if nothing else is in it.

    Raises
    ------
    ArgumentError
        If the folder is no cache.
    """
    for path in existing(root).iterdir():
        if path.is_dir() and (path / ABOUT).is_file():
            for file in path.iterdir():
                if file.name.startswith(ABOUT) or file.suffix in (DATA, INDEX):
                    file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                path.rmdir()
    for file in root.glob(f"*{CHOICE}"):
        file.unlink(missing_ok=True)
    (root / MARK).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        root.rmdir()


def existing(folder: str | os.PathLike[str]) -> Path:
    """The folder, if it is a cache.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    root = Path(folder).expanduser()
    if not (root / MARK).is_file():
        raise ArgumentError(f"'{root}' is no cache folder: there is no file {MARK} in it")
    return root


def damaged(root: Path, name: str) -> tuple[int, int]:
    """Counts of whole samples of a part, and of damaged files or samples."""
    whole = wrong = 0
    for index in sorted((root / name).glob(f"*{INDEX}")):
        found = read_index(index)
        form = found.form
        if form is None or found.nbytes < index.stat().st_size:
            wrong += 1
        data = index.with_suffix(DATA)
        if form is None or not data.exists():
            wrong += found.samples
            continue
        with data.open("rb") as file:
            for row in found.rows:
                good = all(_is_whole(file, form, row[None], edge) for edge in range(form.edges))
                whole, wrong = whole + good, wrong + (not good)
    return whole, wrong


def _is_whole(file: BinaryIO, form: Form, row: Rows, edge: int) -> bool:
    from dali_lab.kernels.cpu.file_access import sums_plain

    count = row[:, form.at(edge) + STORED].copy()
    file.seek(int(row[0, form.at(edge) + OFFSET]))
    content = np.frombuffer(file.read(int(count[0])), np.uint8)
    if len(content) < count[0]:
        return False
    found = np.zeros(1, np.int64)
    sums_plain(np.array([content.ctypes.data], np.int64), count, found)
    return bool(found[0] == row[0, form.at(edge) + SUM])
