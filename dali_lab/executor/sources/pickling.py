"""Pickles functions for spawned worker processes: by name where that works, else by their code.

Used only between processes of one program, never on files.
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def pickle_by_value(function: F) -> F:
    """Mark a function to be pickled by its code rather than by its name, as one defined in a notebook is."""
    function._dali_lab_by_value = True  # type: ignore[attr-defined]
    return function


def dumps(item: object) -> bytes:
    """`item` as bytes for :func:`loads` in another process."""
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(item)
    return buffer.getvalue()


def loads(data: bytes) -> Any:
    """The item that :func:`dumps` packed, in another process of the same program."""
    return pickle.loads(data)


class _Pickler(pickle.Pickler):
    def reducer_override(self, item: object) -> Any:
        if isinstance(item, types.FunctionType) and _by_value(item):
            return _reduce(item)
        if isinstance(item, types.ModuleType):
            return importlib.import_module, (item.__name__,)
        return NotImplemented


def _by_value(function: types.FunctionType) -> bool:
    if getattr(function, "_dali_lab_by_value", False):
        return True
    found: Any = sys.modules.get(function.__module__ or "")
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not function


def _names(code: types.CodeType) -> set[str]:
    """Names of globals that code, and the functions inside it, may use."""
    inner = [_names(item) for item in code.co_consts if isinstance(item, types.CodeType)]
    return set(code.co_names).union(*inner)


def _reduce(function: types.FunctionType) -> Any:
    """Reduce a function to its constructor and the state filled in afterwards, so it may refer to itself."""
    code = function.__code__
    state = {
        "globals": {name: function.__globals__[name] for name in sorted(_names(code)) if name in function.__globals__},
        "cells": [cell.cell_contents if _is_filled(cell) else _Empty() for cell in function.__closure__ or ()],
        "defaults": function.__defaults__,
        "keyword_defaults": function.__kwdefaults__,
    }
    return _made, (marshal.dumps(code), function.__name__, function.__module__), state, None, None, _fill


class _Empty:
    """Stands for a closure variable that has no value yet."""


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:
        return False


def _made(code: bytes, name: str, module: str) -> types.FunctionType:
    loaded = marshal.loads(code)
    closure = tuple(types.CellType() for _ in loaded.co_freevars)
    return types.FunctionType(loaded, {"__builtins__": __builtins__, "__name__": module}, name, None, closure)


def _fill(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["keyword_defaults"]
    for cell, value in zip(function.__closure__ or (), state["cells"], strict=True):
        if not isinstance(value, _Empty):
            cell.cell_contents = value
