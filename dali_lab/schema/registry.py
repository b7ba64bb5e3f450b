"""The registry of operators: every declaration by its name under ``fn`` and by its serialized name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dali_lab.model.errors import GraphError, nearest
from dali_lab.schema.index import BUILT_IN
from dali_lab.schema.operator import Operator

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T", bound=type[Operator])

_OPERATORS: dict[str, type[Operator]] = {}
_BY_SCHEMA: dict[str, type[Operator]] = {}
_SCHEMA_NAMES = {schema_name: name for name, (_, schema_name) in BUILT_IN.items()}
_OFFERED: dict[str, EntryPoint] = {}
_LISTENERS: list[object] = []
_lock = threading.RLock()
_loading_lock = threading.RLock()
_loaded = False
_loading = False
_offering: EntryPoint | None = None
"""The entry point that is being loaded; operators that are registered meanwhile come from it."""

ENTRY_POINT_GROUP = "dali_lab.operators"


def register(operator: T) -> T:
    """Add an operator class to the registry; for use as a decorator.

    It appears at once in ``fn``, ``ops``, the catalogue of the editor and the reference.

    Raises
    ------
    ValueError
        If its name is taken by another class.
    """
    if not operator.schema_name:
        operator.schema_name = default_schema_name(operator.name)
    if not is_built_in(operator):
        _import(operator.name)
        if "beyond_dali" not in vars(operator):
            operator.beyond_dali = True
    with _lock:
        other = _OPERATORS.get(operator.name)
        if other is not None and (other.__module__, other.__qualname__) != (operator.__module__, operator.__qualname__):
            raise ValueError(f"the name fn.{operator.name} is taken by {other.__module__}.{other.__qualname__}")
        _OPERATORS[operator.name] = operator
        _BY_SCHEMA[operator.schema_name] = operator
        if _offering is not None and not is_built_in(operator):
            _OFFERED[operator.name] = _offering
        for listener in _LISTENERS:
            listener(operator)  # type: ignore[operator]
    return operator


def unregister(name: str) -> None:
    """Take an operator out of the registry again."""
    with _lock:
        operator = _OPERATORS.pop(name)
        _OFFERED.pop(name, None)
        _BY_SCHEMA.pop(operator.schema_name, None)


def on_register(listener: object) -> None:
    """Call `listener` with each operator class that is registered from now on."""
    _LISTENERS.append(listener)


def each_operator(listener: Callable[[str, str, Callable[[], type[Operator]]], None]) -> None:
    """Call `listener` with each operator, those that are registered later too, and import none of them.

    Parameters
    ----------
    listener
        Gets the name under ``fn``, the serialized name, and a function that gives the class.
    """

    def added(operator: type[Operator]) -> None:
        listener(operator.name, operator.schema_name, lambda: operator)

    for name, schema_name in built_in().items():
        listener(name, schema_name, functools.partial(find_operator, name))
    for operator in registered():
        added(operator)
    on_register(added)


def default_schema_name(name: str) -> str:
    """``decoders.image_crop`` → ``decoders__ImageCrop``."""
    *modules, last = name.split(".")
    return "__".join([*modules, "".join(word.capitalize() for word in last.split("_"))])


def built_in() -> dict[str, str]:
    """The serialized name of each built-in operator by its name under ``fn``; nothing is imported for it."""
    return {name: schema_name for name, (_, schema_name) in BUILT_IN.items()}


def is_built_in(operator: type[Operator]) -> bool:
    """Whether the operator is one of the package's own, which are known before they are imported."""
    return operator.__module__ == _module(operator.name)


def offered_by(name: str) -> EntryPoint | None:
    """The entry point of another package that an operator came by; `None` for those that this process imported itself.

    A graph file can name the operators of every installed package.
    """
    return _OFFERED.get(name)


def registered() -> list[type[Operator]]:
    """The operators that were imported so far."""
    with _lock:
        return list(_OPERATORS.values())


def load() -> None:
    """Import all built-in operators, and those that installed packages offer.

    A package whose operators cannot be imported is left out with a warning that names it.
    """
    global _loaded, _loading, _offering
    if _loaded:
        return
    with _loading_lock:
        if _loaded or _loading:
            return
        _loading = True
        try:
            from importlib.metadata import entry_points

            operators = importlib.import_module("dali_lab.operators")

            for module in pkgutil.walk_packages(operators.__path__, operators.__name__ + "."):
                importlib.import_module(module.name)
            for entry in entry_points(group=ENTRY_POINT_GROUP):
                _offering = entry
                try:
                    entry.load()
                except Exception as error:  # a faulty package must not break the others
                    warnings.warn(f"the operators of {entry.value} cannot be used: {error}", stacklevel=2)
                finally:
                    _offering = None
            _loaded = True
        finally:
            _loading = False


def all_operators() -> dict[str, type[Operator]]:
    """All operators by their name under ``fn``, in the order of the names."""
    load()
    return dict(sorted(_OPERATORS.items()))


def has_operator(name: str) -> bool:
    """Whether there is an operator of this name."""
    return _look(name) is not None


def known_operator(name: str) -> type[Operator] | None:
    """The operator called `name` under ``fn``, if there is one."""
    return _look(name)


def find_operator(name: str) -> type[Operator]:
    """The operator called `name` under ``fn``, or by its serialized name.

    Raises
    ------
    GraphError
        If there is none; the message names the nearest one.
    """
    found = _OPERATORS.get(name) or _BY_SCHEMA.get(name) or _look(_SCHEMA_NAMES.get(name, name)) or _BY_SCHEMA.get(name)
    if found is None:
        raise GraphError(f"there is no operator '{name}'{nearest(name, _OPERATORS)}", code="operator_unknown")
    return found


def _look(name: str) -> type[Operator] | None:
    """The operator of this name under ``fn``. Its module alone is imported, unless the index does not know it."""
    if name not in _OPERATORS:
        _import(name)
    if name not in _OPERATORS:
        load()
    return _OPERATORS.get(name)


def _module(name: str) -> str | None:
    return f"dali_lab.operators.{BUILT_IN[name][0]}" if name in BUILT_IN else None


def _import(name: str) -> None:
    """Import the module that the index knows for an operator."""
    module = _module(name)
    if module is None:
        return
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
