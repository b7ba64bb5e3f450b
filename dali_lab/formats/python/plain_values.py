"""What is computed with plain values while a program is read: text, lists, numbers, paths; nothing large."""

from __future__ import annotations

import ast
import math
import os.path
import re
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

MOST_ITEMS = 10_000
MOST_TEXT = 100_000
_MOST_WIDTH = 3
_MOST_BITS = 4096
PLAIN = (bool, int, float, str, tuple, list, dict, range, np.generic, type(None))
SEQUENCES = (tuple, list, range)
_TEXT_METHODS = (
    "capitalize", "count", "endswith", "find", "format", "isdigit", "join", "lower", "lstrip", "removeprefix",
    "removesuffix", "replace", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper", "zfill",
)  # fmt: skip
_LIST_METHODS = ("append", "copy", "count", "extend", "index", "insert", "pop", "reverse")
_DICT_METHODS = ("copy", "get", "items", "keys", "pop", "setdefault", "update", "values")
_MATH = (
    "ceil", "cos", "degrees", "e", "exp", "fabs", "floor", "hypot", "inf", "isclose", "log", "log10", "log2", "nan",
    "pi", "radians", "sin", "sqrt", "tan", "tau", "trunc",
)  # fmt: skip
_PATHS = ("basename", "dirname", "join", "normpath", "sep", "splitext")


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


def _module(path: str, names: Mapping[str, Any]) -> Namespace:
    return Namespace(path, dict(names))


_OS_PATH = _module("os.path", {name: getattr(os.path, name) for name in _PATHS})
MODULES: dict[str, Namespace] = {
    "math": _module("math", {name: getattr(math, name) for name in _MATH}),
    "os": _module("os", {"path": _OS_PATH, "sep": os.sep}),
    "os.path": _OS_PATH,
}
"""The modules of the standard library that are known while reading, as far as they compute something plain."""


def method(value: Any, name: str) -> Callable[..., Any] | None:
    """A method of a plain value, if it is one of those that may be called."""
    for kind, names in ((str, _TEXT_METHODS), (list, _LIST_METHODS), (dict, _DICT_METHODS)):
        if type(value) is kind and name in names:
            found: Callable[..., Any] = getattr(value, name)
            return found
    return None


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
    """Call a method of :func:`method`, or a function of :data:`MODULES`.

    Raises
    ------
    NeedsRunning
        If the result would be large.
    """
    owner = getattr(function, "__self__", None)
    if isinstance(owner, str):
        return _of_text(owner, function, arguments, keywords, node)
    if isinstance(owner, list):
        added = arguments[0] if function.__name__ == "extend" and arguments else ()
        if not isinstance(added, SEQUENCES) or len(owner) + len(added) > MOST_ITEMS:
            raise NeedsRunning(node, "a list grows without end")
    if isinstance(owner, dict):
        added = [*arguments, keywords] if function.__name__ == "update" else [()]
        if not all(isinstance(each, (dict, tuple)) for each in added) or len(owner) + sum(map(len, added)) > MOST_ITEMS:
            raise NeedsRunning(node, "a dictionary grows without end")
        result = function(*arguments, **keywords)
        return list(result) if function.__name__ in ("items", "keys", "values") else result
    if owner is None and function in _OS_PATH.names.values() and not all(isinstance(item, str) for item in arguments):
        raise NeedsRunning(node, "a path is made of something that is no text")
    return _bounded(function(*arguments, **keywords), node)


def is_known(function: Any) -> bool:
    """Whether :func:`called` may be asked to call this."""
    owner = getattr(function, "__self__", None)
    if type(owner) in (str, list, dict):
        return True
    return any(function is known for space in MODULES.values() for known in space.names.values())


def _bounded(value: Any, node: ast.AST) -> Any:
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise NeedsRunning(node, "there is a long text")
    return value


def _of_text(
    text: str, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    name = function.__name__
    if name == "format":
        return _bounded(_formatted(text, arguments, keywords, node), node)
    if name == "join":
        items = arguments[0] if arguments else ()
        if not isinstance(items, SEQUENCES) or not all(isinstance(item, str) for item in items):
            raise TypeError("join() takes a list of texts here")
        if sum(map(len, items)) + len(text) * len(items) > MOST_TEXT:
            raise NeedsRunning(node, "there is a long text")
    if name == "replace":
        longest = max([len(item) for item in arguments if isinstance(item, str)], default=0)
        if (len(text) + 1) * longest > MOST_TEXT:
            raise NeedsRunning(node, "there is a long text")
    if name == "zfill" and not (arguments and isinstance(arguments[0], int) and arguments[0] <= MOST_TEXT):
        raise NeedsRunning(node, "there is a long text")
    return function(*arguments, **keywords)


def _formatted(text: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> str:
    """``text.format(…)`` with plain values; a field may not look into its value."""
    for _, field, form, conversion in string.Formatter().parse(text):
        if field is not None and not re.fullmatch(r"\w*", field):
            raise NeedsRunning(node, "a text is made of parts of a value")
        check_form(form or "", node)
        if conversion not in (None, "s", "r"):
            raise NeedsRunning(node, "a text is made in an unusual way")
    if not is_plain(*arguments, *keywords.values()):
        raise NeedsRunning(node, "a text is made of something that is neither number nor text")
    return text.format(*arguments, **keywords)


def check_form(form: str, node: ast.AST) -> None:
    """Refuse a way of writing a value that would make it long, or depends on other values."""
    if "{" in form or any(len(number) > _MOST_WIDTH for number in re.findall(r"\d+", form)):
        raise NeedsRunning(node, "a text is made in an unusual way")


def percent(text: str, values: Any, node: ast.AST) -> str:
    """``text % values``."""
    items = values if isinstance(values, tuple) else (values,)
    for form in re.findall(r"%[^%a-zA-Z]*[a-zA-Z%]?", text):
        if "*" in form:
            raise NeedsRunning(node, "a text is made in an unusual way")
        check_form(form.replace("{", ""), node)
    if not is_plain(*items):
        raise NeedsRunning(node, "a text is made of something that is neither number nor text")
    return str(_bounded(text % values, node))


def repeated(items: Any, count: Any, node: ast.AST) -> Any:
    """``items * count`` for text and lists."""
    if isinstance(count, bool) or not isinstance(count, int) or len(items) * max(count, 0) > MOST_ITEMS:
        raise NeedsRunning(node, "a list grows without end")
    return items * count


def _range(*bounds: int) -> range:
    if not all(isinstance(bound, int) for bound in bounds):
        raise TypeError("range() takes whole numbers")
    made = range(*bounds)
    if len(made) > MOST_ITEMS:
        raise ValueError(f"there is a range of more than {MOST_ITEMS} numbers")
    return made


def _of_sequences(make: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
    """A builtin that takes sequences and gives an iterator, giving a list instead."""

    def function(*sequences: Any, **keywords: Any) -> list[Any]:
        if not all(isinstance(each, (*SEQUENCES, dict, str)) for each in sequences[:1]):
            raise TypeError(f"{make.__name__}() takes lists here")
        return list(make(*sequences, **keywords))

    return function


BUILTINS: dict[str, Any] = {
    "float": float, "int": int, "bool": bool, "str": str, "abs": abs, "min": min, "max": max, "sum": sum,
    "round": round,
    "any": any, "all": all, "dict": dict, "list": list, "tuple": tuple, "len": len, "range": _range,
    "enumerate": _of_sequences(enumerate), "zip": _of_sequences(zip), "reversed": _of_sequences(reversed),
    "sorted": _of_sequences(sorted), "isinstance": isinstance,
}  # fmt: skip
_OF_PLAIN = (float, int, bool, str, abs, min, max, sum, round, any, all, isinstance)
_OF_LISTS = (list, tuple, len)


def check_builtin(function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> None:
    """Refuse what would take long or much memory, and what is no plain value.

    Raises
    ------
    NeedsRunning
        Saying what it is.
    """
    if function is isinstance:
        kinds = arguments[1] if len(arguments) == 2 and isinstance(arguments[1], tuple) else arguments[1:]
        if not all(kind in (float, int, bool, str, dict, list, tuple) for kind in kinds):
            raise NeedsRunning(node, "the type of a value decides")
    elif any(function is each for each in _OF_PLAIN):
        if not is_plain(*arguments, *keywords.values()):
            raise NeedsRunning(node, f"{function.__name__}() takes something other than numbers and text")
    elif any(function is each for each in _OF_LISTS):
        if not all(isinstance(item, (*SEQUENCES, dict, str) if function is len else SEQUENCES) for item in arguments):
            raise NeedsRunning(node, "a list is made of something that is none")
    elif any(function is each for each in BUILTINS.values()) and function is not dict:
        if not keywords.keys() <= {"start", "strict", "reverse"}:
            raise NeedsRunning(node, "a builtin is called in an unusual way")


def checked_number(value: Any, node: ast.AST) -> Any:
    """A number that was computed, unless it grew without end."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise NeedsRunning(node, "there is a large number")
    return value
