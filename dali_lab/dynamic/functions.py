"""Functions and classes for the operators, made from the registry when they are first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dali_lab.dynamic.calling import call
from dali_lab.dynamic.namespace import PACKAGE, namespace
from dali_lab.dynamic.random import drawn_state
from dali_lab.dynamic.readers import Reader
from dali_lab.fn import make_function as make_node_function
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import each_operator


def make_function(operator: type[Operator]) -> Any:
    """The function for an operator."""

    def function(
        *inputs: object, batch_size: int | None = None, device: object = None, rng: object = None, **arguments: object
    ) -> Any:
        if operator.random and arguments.get("seed") is None:
            arguments["_random_state"] = drawn_state(rng)
        return call(operator, inputs, arguments, batch_size=batch_size, place=device)

    of_nodes = make_node_function(operator)
    *parents, last = operator.name.split(".")
    function.__name__ = function.__qualname__ = last
    function.__module__ = ".".join([PACKAGE, *parents])
    function.__doc__ = of_nodes.__doc__
    known = [*inspect.signature(of_nodes).parameters.values()]
    own = ["batch_size", "rng"] if operator.random else ["batch_size"]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in own]
    function.__signature__ = inspect.Signature([*known, *more])  # type: ignore[attr-defined]
    return function


def make_reader(operator: type[Operator]) -> type[Reader]:
    """The class for a reader."""
    name = _class_name(operator.schema_name)
    members = {
        "operator_name": operator.name,
        "__doc__": make_node_function(operator).__doc__,
        "__module__": f"{PACKAGE}.readers",
    }
    return type(name, (Reader,), members)


def _class_name(schema_name: str) -> str:
    return schema_name.split("__")[-1].lstrip("_")


def _offer(name: str, schema_name: str, operator: Callable[[], type[Operator]]) -> None:
    parents = name.split(".")[:-1]
    if "readers" in parents:
        namespace.offer(".".join([*parents, _class_name(schema_name)]), lambda: make_reader(operator()))
    elif parents[:1] not in (["math"], ["_conditional"], ["inputs"]) and name not in _ONLY_IN_PIPELINES:
        namespace.offer(name, lambda: make_function(operator()))


_ONLY_IN_PIPELINES = {"external_source", "python_function", "dl_tensor_python_function", "torch_python_function"}

each_operator(_offer)
