"""Operators as functions: ``fn.resize(images, size=224)`` adds a node to the pipeline that is being defined.

The functions are made from the registry; their signatures and documentation come from the declarations.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

from dali_lab.graph.tracing import traced_call
from dali_lab.schema.aliases import Alias, aliases_of, warn_deprecated, warn_renamed
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.namespaces import Namespace
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import each_operator

# Modules such as ``fn.readers`` are made by the namespace; this lets them be imported by name.
__path__: list[str] = []


def _to_snake_case(name: str) -> str:
    """The function's name for a class name of older releases: ``coco_reader`` for ``COCOReader``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()
    return words.replace("b_box", "bbox").replace("tf_record", "tfrecord")


def make_function(operator: type[Operator]) -> Any:
    """The function under ``fn`` for an operator."""
    name = operator.name

    def function(*inputs: object, **kwargs: object) -> Any:
        if operator.deprecated:
            warn_deprecated(f"fn.{name}", operator.deprecated)
        return traced_call(operator, inputs, kwargs)

    from dali_lab.schema.reference import docstring

    parts = name.split(".")
    function.__name__ = function.__qualname__ = parts[-1]
    function.__module__ = ".".join([__name__, *parts[:-1]])
    function.__doc__ = docstring(operator)
    function._schema_name = operator.schema_name  # type: ignore[attr-defined]
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
    """The function under ``fn`` for another name of an operator, which warns if it is an old one."""

    def function(*inputs: object, **kwargs: object) -> Any:
        if alias.warns:
            warn_renamed(f"fn.{alias.name}", f"fn.{alias.successor}")
        return traced_call(operator, inputs, {**alias.defaults, **kwargs})

    parts = alias.name.split(".")
    function.__name__ = function.__qualname__ = parts[-1]
    function.__module__ = ".".join([__name__, *parts[:-1]])
    function._schema_name = alias.schema_name  # type: ignore[attr-defined]
    function.__doc__ = f"The name of ``fn.{alias.successor}`` in older releases."
    return function


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _namespace.public(sys.modules[__name__])
    return _namespace.attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("_")), *_namespace.public(sys.modules[__name__])})


def _offer(name: str, schema_name: str, operator: Callable[[], type[Operator]]) -> None:
    _namespace.offer(name, lambda: make_function(operator()))
    for alias in aliases_of(name):
        _namespace.offer(alias.name, functools.partial(lambda alias: make_old_function(alias, operator()), alias))


_namespace = Namespace(__name__)
each_operator(_offer)
