"""Index of archives of samples (WebDataset): read from the archives themselves, or from index files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.operators.readers.archives.tar import BLOCK, Entry, entries

VERSION = "v1.2"
VERSIONS = ("v1.1", VERSION)


class IndexFileError(ValueError):
    """An index file that is damaged, or is none."""


class Components(NamedTuple):
    """The files in an archive, grouped to samples.

    Attributes
    ----------
    samples
        ``int64[C]``, the number of the sample that each file belongs to; it never falls.
    extensions
        The part of each file's name after its first dot.
    offsets, sizes
        ``int64[C]``, where each file begins in the archive, and its bytes.
    names
        Names of the files; empty ones where an index of version 1.1 has none.
    """

    samples: npt.NDArray[np.int64]
    extensions: list[str]
    offsets: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    names: list[str]

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return int(self.samples[-1]) + 1 if len(self.samples) else 0


def split_name(path: str) -> tuple[str, str]:
    """The name that files of a sample share, and the extension: all after the first dot of the file name.

    A name without a dot is both.
    """
    dot = path.find(".", path.rfind("/") + 1)
    return (path, path) if dot < 0 else (path[:dot], path[dot + 1 :])


def of_archive(archive: IO[bytes]) -> Components:
    """The components of an archive; files that follow each other and have one name, but for extensions, are a sample.

    Files whose names begin with a dot are left out.

    Parameters
    ----------
    archive
        The archive, opened to be read.

    Raises
    ------
    TarError
        If it is damaged.
    OSError
        If it cannot be read.
    """
    samples, extensions, found = [], [], []
    number, last = -1, ""
    for entry in entries(archive):
        base, extension = split_name(entry.name)
        if not base or base.endswith("/"):
            continue
        if base != last or number < 0:
            number, last = number + 1, base
        samples.append(number)
        extensions.append(extension)
        found.append(entry)
    return _components(samples, extensions, found)


def _components(samples: list[int], extensions: list[str], found: Sequence[Entry]) -> Components:
    count = len(found)
    return Components(
        np.fromiter(samples, np.int64, count),
        extensions,
        np.fromiter((entry.offset for entry in found), np.int64, count),
        np.fromiter((entry.size for entry in found), np.int64, count),
        [entry.name for entry in found],
    )


def parse(text: str) -> Components:
    """The components that an index file lists: ``v1.2 SAMPLES``, then a line for each sample with the extension,
    offset, size and name of each of its files. Version 1.1 has no names.

    Raises
    ------
    IndexFileError
        If it is damaged; the message names the line.
    """
    lines = text.split("\n")
    head = lines[0].split()
    if not head:
        raise IndexFileError(
            "no version signature found: line 1 must be the version and the number of samples, and is empty"
        )
    if head[0] not in VERSIONS:
        raise IndexFileError(
            f"line 1: Unsupported version of the index file ({head[0]}). It is not one of {', '.join(VERSIONS)}"
        )
    if len(head) < 2 or not head[1].lstrip("-").isdigit() or int(head[1]) < 1:
        why = "sample count must be positive" if len(head) > 1 else "no sample count found"
        raise IndexFileError(f"line 1 must be the version and the number of samples, at least 1: {why}")
    count = int(head[1])
    width = 3 if head[0] == "v1.1" else 4
    if count > len(lines) - 1:
        raise IndexFileError(f"line 1 says {count} samples, and {len(lines) - 1} lines follow")
    rows = [line.split() for line in lines[1 : count + 1]]
    lengths = np.fromiter(map(len, rows), np.int64, count)
    wrong = (lengths == 0) | (lengths % width != 0)
    if wrong.any():
        what = "extension, offset, size and name" if width == 4 else "extension, offset and size"
        bad = int(wrong.argmax())
        why = (
            "Could not find all necessary component parameters"
            if lengths[bad]
            else "no extensions provided for the sample"
        )
        raise _at_line(lines, bad, f"must be {what} of each file of a sample ({why})")
    words = list(itertools.chain.from_iterable(rows))
    samples = np.repeat(np.arange(count), lengths // width)
    try:
        places = np.fromiter(map(int, words[1::width]), np.int64, len(samples))
        sizes = np.fromiter(map(int, words[2::width]), np.int64, len(samples))
    except (ValueError, OverflowError):
        pairs = zip(words[1::width], words[2::width], strict=True)
        bad = next(place for place, pair in enumerate(pairs) if not _are_numbers(pair))
        raise _at_line(lines, int(samples[bad]), "must have numbers for offset and size") from None
    wrong = (places < 0) | (places % BLOCK != 0) | (sizes < 0)
    if wrong.any():
        bad = int(wrong.argmax())
        raise _at_line(
            lines,
            int(samples[bad]),
            f"has a file of {sizes[bad]} bytes at byte {places[bad]}, which cannot be"
            + (": the tar offset is not a multiple of tar block size" if places[bad] % BLOCK else ""),
        )
    names = words[3::width] if width == 4 else [""] * len(samples)
    return Components(samples, words[::width], places, sizes, names)


def _are_numbers(pair: Iterable[str]) -> bool:
    try:
        return all(-(1 << 63) <= int(word) < 1 << 63 for word in pair)
    except ValueError:
        return False


def _at_line(lines: Sequence[str], sample: int, problem: str) -> IndexFileError:
    return IndexFileError(f"line {sample + 2} {problem}: {lines[sample + 1][:80]!r}")


def lines(components: Components) -> Iterable[str]:
    """The lines of an index file.

    Raises
    ------
    IndexFileError
        If a name cannot stand in one, or there are no files.
    """
    if not components.sample_count:
        raise IndexFileError("there are no files in the archive, or all their names begin with a dot")
    yield f"{VERSION} {components.sample_count}"
    words: list[str] = []
    last = 0
    columns = zip(
        components.samples.tolist(), components.extensions, components.offsets.tolist(), components.sizes.tolist(),
        components.names, strict=True,
    )  # fmt: skip
    for sample, extension, offset, size, name in columns:
        if len(extension.split()) != 1 or extension != extension.strip() or len(name.split()) != 1:
            raise IndexFileError(f"{name!r} cannot stand in an index file, where spaces are between words")
        if sample != last:
            yield " ".join(words)
            words, last = [], sample
        words += [extension, str(offset), str(size), name]
    yield " ".join(words)
