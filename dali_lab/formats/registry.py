"""The forms in which graphs are written: each package of :mod:`dali_lab.formats` registers its own here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dali_lab.formats.disk import PathLike
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError

Arguments = Mapping[str, Any]
Reader = Callable[[bytes, str | None, Arguments | None, PathLike], Graph]


@dataclass(frozen=True)
class Format:
    """One form of a graph.

    Attributes
    ----------
    name
        For ``--to``.
    title
        One line for people.
    endings
        Of file names, the usual one first.
    dumps
        The content of a file, from a graph and options.
    loads
        A graph from the content of a file, the name of the pipeline in it, that one's arguments, and the file's name
        (empty where it has none); `None` where graphs cannot be read from it.
    detect
        Whether the content of a file with this name (empty where it has none) has this form; needed for `loads`.
    lost
        Sentences about the parts of a graph that the form leaves out.
    binary
        Whether it is bytes and not text.
    movable
        Whether paths in its files start at the file's folder where what they name lies there.
    program
        Whether it is a program, in which such paths are made from ``__file__``; `dumps` takes `here` then.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    dumps: Callable[..., bytes | str]
    loads: Reader | None = None
    detect: Callable[[bytes, str], bool] | None = None
    lost: Callable[[Graph], list[str]] = lambda graph: []
    binary: bool = False
    movable: bool = False
    program: bool = False

    @property
    def reads(self) -> bool:
        """Whether graphs can be read from it."""
        return self.loads is not None


FORMATS: dict[str, Format] = {}

DETECTED = ("png", "report", "json", "dali-serialized", "python")
"""In this order a content is tried: those with a beginning of their own first, text that may be a program last."""


def register(*formats: Format) -> None:
    """Add forms, in the order in which people see them."""
    FORMATS.update({form.name: form for form in formats})


def format_of(path: PathLike) -> Format:
    """The form that a file's ending stands for.

    Raises
    ------
    FormatError
        If no form has this ending.
    """
    name = os.path.basename(os.fspath(path)).lower()
    found = [(ending, entry) for entry in FORMATS.values() for ending in entry.endings if name.endswith(ending)]
    if not found:
        known = ", ".join(entry.endings[0] for entry in FORMATS.values())
        raise FormatError(f"the ending of '{name}' stands for no form of a graph; known are {known}")
    return max(found, key=lambda item: len(item[0]))[1]


def detected(data: bytes, name: str = "") -> Format | None:
    """The form of a file's content, if it is one that can be read.

    Parameters
    ----------
    name
        Name of the file.
    """
    for form in map(FORMATS.__getitem__, DETECTED):
        if form.detect is not None and form.detect(data, name):
            return form
    return None


def beginning(data: bytes) -> bytes:
    """The first byte of a text that is no white space, empty where there is none."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
