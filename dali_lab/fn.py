"""Operators as functions: ``fn.resize(images, size=224)`` adds a node to the pipeline that is being defined.

The functions are made from the registry; their signatures and documentation come from the declarations.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dali_lab.schema.aliases import ALIASES, Alias, warn_renamed
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import all_operators, on_register
from dali_lab.schema.waiting import WAITING, reason

# Modules such as ``fn.readers`` are made below; this lets them be imported by name.
__path__: list[str] = []


def _module(path: list[str]) -> ModuleType:
    """The module for a dotted path under ``fn``, made if need be."""
    module = sys.modules[__name__]
    for depth, part in enumerate(path, 1):
        name = ".".join([__name__, *path[:depth]])
        child = sys.modules.get(name)
        if child is None:
            child = ModuleType(name, f"Operators under ``fn.{'.'.join(path[:depth])}``.")
            child.__path__ = []
            child.__getattr__ = functools.partial(_attribute, child)  # type: ignore[method-assign]
            child.__dir__ = functools.partial(_names, child)  # type: ignore[method-assign]
            sys.modules[name] = child
        setattr(module, part, child)
        module = child
    return module


def make_function(operator: type[Operator]) -> Any:
    """The function under ``fn`` for an operator."""
    name = operator.name

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return operator.python_call(inputs, kwargs)

    from dali_lab.schema.reference import docstring

    parts = name.split(".")
    function.__name__ = function.__qualname__ = parts[-1]
    function.__module__ = ".".join([__name__, *parts[:-1]])
    function.__doc__ = docstring(operator)
    kinds = inspect.Parameter
    parameters: list[inspect.Parameter] = []
    for declared in operator.inputs:
        if declared.variadic:
            parameters.append(kinds(declared.name, kinds.VAR_POSITIONAL))
        else:
            default = None if declared.optional else kinds.empty
            parameters.append(kinds(declared.name, kinds.POSITIONAL_ONLY, default=default))
    taken = {parameter.name for parameter in parameters}
    for arg in operator.argument_table.values():
        if not arg.listed or arg.name in taken:
            continue
        default = kinds.empty if arg.default is REQUIRED else arg.default
        parameters.append(kinds(arg.name, kinds.KEYWORD_ONLY, default=default))
    parameters.append(kinds("device", kinds.KEYWORD_ONLY, default=None))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def make_old_function(alias: Alias, operator: type[Operator]) -> Any:
    """The function under ``fn`` for another name of an operator, which warns once if it is an old one."""

    def function(*inputs: Any, **kwargs: Any) -> Any:
        if alias.warns:
            warn_renamed(f"fn.{alias.name}", f"fn.{alias.successor}")
        return operator.python_call(inputs, {**alias.defaults, **kwargs})

    parts = alias.name.split(".")
    function.__name__ = function.__qualname__ = parts[-1]
    function.__module__ = ".".join([__name__, *parts[:-1]])
    function.__doc__ = f"The name of ``fn.{alias.successor}`` in older releases."
    return function


def _attribute(module: ModuleType, name: str) -> Any:
    """Make a function when it is first asked for: signatures and documentation of all would slow the import down."""
    maker = _makers.get((module.__name__, name))
    if maker is None:
        waits = reason(f"{module.__name__}.{name}".partition(".fn.")[2])
        raise AttributeError(waits or f"module '{module.__name__}' has no attribute '{name}'")
    function = maker()
    setattr(module, name, function)
    return function


def _names(module: ModuleType) -> list[str]:
    return sorted({*vars(module), *(name for where, name in _makers if where == module.__name__)})


def __getattr__(name: str) -> Any:
    return _attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return _names(sys.modules[__name__])


_makers: dict[tuple[str, str], Callable[[], Any]] = {}


def _offer(name: str, maker: Callable[[], Any]) -> None:
    *path, last = name.split(".")
    module = _module(path)
    vars(module).pop(last, None)
    _makers[module.__name__, last] = maker


def _add(operator: type[Operator]) -> None:
    _offer(operator.name, functools.partial(make_function, operator))
    for alias in ALIASES.values():
        if alias.successor == operator.name:
            _offer(alias.name, functools.partial(make_old_function, alias, operator))


for _waiting in WAITING:
    _module(_waiting.split(".")[:-1])
for _operator in all_operators().values():
    _add(_operator)
on_register(_add)
