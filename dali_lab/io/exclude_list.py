"""Exclude lists: text files with a sample's name on each line, by which readers leave samples out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from dali_lab.io.files import read_file

_TITLE = "# Samples that readers leave out (exclude_list): one on each line, by the name that the reader has for it."


def read_exclude_list(path: str) -> frozenset[str]:
    """The names in a list.

    Empty lines and lines that begin with ``#`` do not count. A line that begins with ``"`` is a JSON string, for names
    with line breaks. ``./`` in front of a name makes no difference.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a line is a damaged JSON string, with its number.
    """
    lines = read_file(path).split(b"\n")
    names = set()
    for number, line in enumerate(lines, 1):
        text = os.fsdecode(line.removesuffix(b"\r"))
        if not text or text.startswith("#"):
            continue
        if text.startswith('"'):
            try:
                text = json.loads(text)
            except ValueError:
                raise ValueError(f"line {number} begins with a quotation mark and is not JSON string") from None
        names.add(plain(text))
    return frozenset(names)


def exclude_list(names: Iterable[str]) -> bytes:
    """The content of a list for :func:`read_exclude_list`."""
    lines = [_TITLE, *(_line(name) for name in dict.fromkeys(map(plain, names)))]
    return b"".join(os.fsencode(line) + b"\n" for line in lines)


def plain(name: str) -> str:
    """A name without ``./`` in front of it, which some readers have for files of their root folder."""
    return name.removeprefix(f".{os.sep}")


def _line(name: str) -> str:
    return json.dumps(name) if name[:1] in ("", '"', "#") or "\n" in name or name.endswith("\r") else name
