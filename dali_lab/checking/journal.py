"""The journal of a check: the parts that are done, so that a check that was killed goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from dali_lab.checking.facts import Facts
from dali_lab.checking.findings import Finding
from dali_lab.checking.walk import Part

_FORMAT = "dali-lab check 1"


class Journal:
    """A file that parts are added to, each as a line of JSON.

    Parameters
    ----------
    path
        The file; parts of another dataset or graph in it are dropped.
    mark
        A digest of all that the parts depend on.

    Attributes
    ----------
    parts
        The parts in it that follow each other from the first one on.

    Raises
    ------
    OSError
        If it cannot be written.
    """

    def __init__(self, path: str, mark: str) -> None:
        self.path = path
        self.parts: list[Part] = []
        end = 0
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            for number, line in enumerate(_whole_lines(file.read())):
                try:
                    self._take(number, line, mark)
                except (ValueError, KeyError, TypeError):
                    break
                end += len(line) + 1
        self._file = open(path, "r+b" if end else "wb")  # noqa: SIM115  (it stays open)
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._write({"format": _FORMAT, "mark": mark})

    def _take(self, number: int, line: bytes, mark: str) -> None:
        found = json.loads(line)
        if number == 0:
            if found != {"format": _FORMAT, "mark": mark}:
                raise ValueError("another check")
            return
        if found["part"] != number - 1:
            raise ValueError("a part is missing")
        self.parts.append(part_of(found))

    def add(self, part: Part) -> None:
        """Add a part; it is on the disk when this returns."""
        self._write(plain(part))

    def _write(self, content: object) -> None:
        self._file.write(json.dumps(content, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and remove it once the report stands."""
        self._file.close()
        if remove:
            os.unlink(self.path)


def plain(part: Part) -> dict[str, object]:
    """A part as values of JSON."""
    facts = {reader: each.plain() for reader, each in part.facts.items()}
    return {"part": part.number, "findings": [each.plain() for each in part.findings], "facts": facts}


def part_of(found: Mapping[str, Any]) -> Part:
    """The part that :func:`plain` gave the values of."""
    facts = {str(reader): Facts.of(facts) for reader, facts in found["facts"].items()}
    return Part(found["part"], list(map(Finding.of, found["findings"])), facts)


def _whole_lines(content: bytes) -> Iterator[bytes]:
    lines = content.split(b"\n")
    yield from lines[:-1]


def mark(*parts: object) -> str:
    """A digest of values whose text shows all of their content."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
