"""Large JSON files, element by element: what is in the lists of the outermost object, without keeping all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

Take = Callable[[Any], None]

_space = re.compile(r"[ \t\n\r]*").match


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_decoder: Any = json.JSONDecoder(parse_constant=_refuse)
_scan: Callable[[str, int], tuple[Any, int]] = _decoder.scan_once


def read_lists(text: str, takers: Mapping[str, Take]) -> set[str]:
    """Give each element of some lists in the outermost object to a function.

    Parameters
    ----------
    text
        The file.
    takers
        By the name of a list, what takes its elements in turn. What else is in the object is passed over.

    Returns
    -------
    set of str
        Names of the lists that were there.

    Raises
    ------
    ValueError
        If the text is no JSON, or something that should be a list is none; it says where.
    """
    found: set[str] = set()
    at = _after(text, 0, "{")
    if _next(text, at) == "}":
        return found
    while True:
        key, at = _value(text, at)
        if not isinstance(key, str):
            raise json.JSONDecodeError("Expecting a name in double quotes", text, at)
        at = _after(text, at, ":")
        take = takers.get(key)
        if take is None:
            _, at = _value(text, at)
        else:
            found.add(key)
            at = _elements(text, at, key, take)
        if _next(text, at) == "}":
            return found
        at = _after(text, at, ",")


def _elements(text: str, at: int, name: str, take: Take) -> int:
    """Take the elements of the list that begins at `at`; where it ends."""
    if _next(text, at) != "[":
        raise json.JSONDecodeError(f"'{name}' is no list", text, at)
    at = _after(text, at, "[")
    if _next(text, at) == "]":
        return _after(text, at, "]")
    while True:
        value, at = _value(text, at)
        take(value)
        if text[at : at + 1] != ",":
            if _next(text, at) == "]":
                return _after(text, at, "]")
            at = _after(text, at, ",")
        else:
            at += 1


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value at `at`, and where it ends."""
    at = _space(text, at).end()  # type: ignore[union-attr]
    try:
        return _scan(text, at)
    except StopIteration as stop:
        raise json.JSONDecodeError("Expecting value", text, stop.value) from None
    except RecursionError:
        raise json.JSONDecodeError("Lists within lists without end", text, at) from None


def _next(text: str, at: int) -> str:
    at = _space(text, at).end()  # type: ignore[union-attr]
    return text[at : at + 1]


def _after(text: str, at: int, sign: str) -> int:
    """The place after `sign`, which must be next."""
    at = _space(text, at).end()  # type: ignore[union-attr]
    if text[at : at + 1] != sign:
        raise json.JSONDecodeError(f"Expecting '{sign}'", text, at)
    return at + 1
