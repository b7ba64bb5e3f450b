"""Plain values while a program is read: text, lists, numbers, paths, and the functions that may work on them."""

from __future__ import annotations

import ast
import math
import os.path
import re
import string
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

MOST_ITEMS = 10_000
LARGEST_ARRAY = 1_000_000
_MOST_TEXT = 100_000
_MOST_WIDTH = 3
_MOST_BITS = 4096
_MOST_EXPONENT = 1024
SEQUENCES = (tuple, list, range)
PLAIN = (bool, int, float, str, tuple, list, dict, range, np.generic, type(None))
_METHODS: dict[type, tuple[str, ...]] = {
    str: (
        "capitalize", "count", "endswith", "find", "format", "isdigit", "join", "lower", "lstrip", "removeprefix",
        "removesuffix", "replace", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper", "zfill",
    ),
    list: ("append", "copy", "count", "extend", "index", "insert", "pop", "reverse"),
    dict: ("copy", "get", "items", "keys", "pop", "setdefault", "update", "values"),
}  # fmt: skip


class NeedsRunning(Exception):
    """Code that says something only when it is run; `missing` is an argument of the program that has no value."""

    def __init__(self, node: ast.AST, reason: str, missing: str | None = None) -> None:
        self.line = getattr(node, "lineno", 0)
        self.reason = reason
        self.missing = missing
        super().__init__(reason)


class Namespace:
    """A package or module, as far as its names may be used."""

    def __init__(self, path: str, names: dict[str, Any]) -> None:
        self.path = path
        self.names = names


def _module(module: ModuleType, names: str, **more: Any) -> Namespace:
    path = "os.path" if module is os.path else module.__name__
    return Namespace(path, {**{name: getattr(module, name) for name in names.split()}, **more})


_OS_PATH = _module(os.path, "basename dirname join normpath sep splitext")
MODULES = {
    "math": _module(
        math,
        "ceil cos degrees e exp fabs floor hypot inf isclose log log10 log2 nan pi radians sin sqrt tan tau trunc",
    ),
    "os": _module(os, "sep", path=_OS_PATH),
    "numpy": _module(
        np,
        "array float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ zeros pi e inf nan",
    ),
}
"""Modules other than DALI's that are known while reading, as far as they compute something plain."""


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if len(made) > MOST_ITEMS:
        raise ValueError(f"there is a range of more than {MOST_ITEMS} numbers")
    return made


def _listed(make: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
    """A builtin that gives an iterator, giving a list instead."""
    return lambda *sequences, **options: list(make(*sequences, **options))


_OF_PLAIN = (float, int, bool, str, abs, min, max, sum, round, any, all)
_OF_LISTS = (list, tuple, len)
BUILTINS: dict[str, Any] = {
    **{function.__name__: function for function in (*_OF_PLAIN, *_OF_LISTS, dict, isinstance, sorted)},
    "range": _range,
    **{make.__name__: _listed(make) for make in (enumerate, zip, reversed)},
}
_KNOWN = {
    each for names in (BUILTINS, MODULES["math"].names, _OS_PATH.names) for each in names.values() if callable(each)
}


def method(value: Any, name: str) -> Callable[..., Any] | None:
    """A method of a plain value, if it may be called."""
    return getattr(value, name) if name in _METHODS.get(type(value), ()) else None


def is_known(function: Callable[..., Any]) -> bool:
    """Whether :func:`called` may be asked to call this."""
    return type(getattr(function, "__self__", None)) in _METHODS or function in _KNOWN


def is_plain(*values: Any) -> bool:
    """Whether values are made of numbers, text, lists and dictionaries alone, and not of very many."""
    left = list(values)
    for _ in range(MOST_ITEMS):
        if not left:
            return True
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, (tuple, list)):
            left += value
        elif not isinstance(value, PLAIN):
            return False
    return False


def called(function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
    """Call a method of :func:`method`, a builtin, or a function of ``math`` or ``os.path``.

    Raises
    ------
    NeedsRunning
        If it would take long or much memory, or a value is not plain.
    """
    owner, given = getattr(function, "__self__", None), [*arguments, *keywords.values()]
    if isinstance(owner, str):
        return _of_text(owner, function, arguments, keywords, node)
    if isinstance(owner, (list, dict)):
        several = function.__name__ in ("extend", "update")
        added = sum(len(each) for each in (*arguments, keywords) if isinstance(each, (*SEQUENCES, dict)) and several)
        if len(owner) + added >= MOST_ITEMS:
            kind = "list" if isinstance(owner, list) else "dictionary"
            raise NeedsRunning(node, f"a {kind} grows without end")
    elif function is isinstance:
        kinds = arguments[1] if len(arguments) == 2 and isinstance(arguments[1], tuple) else arguments[1:]
        if not all(isinstance(kind, type) and kind in (float, int, bool, str, dict, list, tuple) for kind in kinds):
            raise NeedsRunning(node, "isinstance() asks for a class that is not known here")
    elif function in _OF_PLAIN or function in MODULES["math"].names.values():
        digits = arguments[1] if function is round and len(arguments) > 1 else 0
        if not is_plain(*given) or not is_small(digits):
            raise NeedsRunning(node, f"{function.__name__}() takes something other than numbers and text")
    elif function in _OF_LISTS:
        if not all(isinstance(item, (*SEQUENCES, dict, str) if function is len else SEQUENCES) for item in given):
            raise NeedsRunning(node, "a list is made of a value that is not a list")
    elif function in _OS_PATH.names.values() and not all(isinstance(item, str) for item in given):
        raise NeedsRunning(node, "a part of a path is not text")
    result = function(*arguments, **keywords)
    return list(result) if function.__name__ in ("items", "keys", "values") else bounded(result, node)


def bounded(value: Any, node: ast.AST) -> Any:
    """A value that was computed, unless it grew without end."""
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        raise NeedsRunning(node, f"there is a text of more than {_MOST_TEXT} characters")
    if isinstance(value, SEQUENCES) and len(value) > MOST_ITEMS:
        raise NeedsRunning(node, "a list grows without end")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise NeedsRunning(node, "there is a large number")
    return value


def is_small(value: Any) -> bool:
    """Whether a number is one that powers and shifts may be made of."""
    return isinstance(value, (bool, int, float)) and abs(value) <= _MOST_EXPONENT


def _of_text(
    text: str, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    if function.__name__ == "format":
        for _, field, form, conversion in string.Formatter().parse(text):
            if field is not None and not re.fullmatch(r"\w*", field):
                raise NeedsRunning(node, "a text format looks into a value")
            check_form(form or "", node)
            if conversion not in (None, "s", "r"):
                raise NeedsRunning(node, "there is an unusual text format")
        check_parts(node, *arguments, *keywords.values())
    elif (len(text) + 1) * (1 + sum(map(_weight, (*arguments, *keywords.values())))) > 10 * _MOST_TEXT:
        raise NeedsRunning(node, f"there is a text of more than {_MOST_TEXT} characters")
    return bounded(function(*arguments, **keywords), node)


def _weight(value: Any) -> int:
    """A bound for the length that an argument of a method may add to a text."""
    if isinstance(value, SEQUENCES):
        return len(value) + sum(map(_weight, value))
    return len(value) if isinstance(value, str) else abs(value) if isinstance(value, int) else 0


def check_parts(node: ast.AST, *values: Any) -> None:
    """Refuse to write values as text that are not plain."""
    if not is_plain(*values):
        raise NeedsRunning(node, "a text holds a value that is neither a number nor a text")


def check_form(form: str, node: ast.AST) -> None:
    """Refuse a way of writing a value that would make it long, or depends on other values."""
    if "{" in form or any(len(number) > _MOST_WIDTH for number in re.findall(r"\d+", form)):
        raise NeedsRunning(node, "there is an unusual text format")


def percent(text: str, values: Any, node: ast.AST) -> str:
    """``text % values``."""
    for form in re.findall(r"%[^%a-zA-Z]*[a-zA-Z%]?", text):
        check_form("{" if "*" in form else form.replace("{", ""), node)
    check_parts(node, values)
    return str(bounded(text % values, node))


def repeated(items: Any, count: Any, node: ast.AST) -> Any:
    """``items * count`` for text and lists."""
    if isinstance(count, bool) or not isinstance(count, int) or len(items) * max(count, 0) > MOST_ITEMS:
        raise NeedsRunning(node, "a list grows without end")
    return items * count
