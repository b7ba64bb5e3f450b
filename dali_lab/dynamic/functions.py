"""Functions and classes for the operators, made from the registry when they are first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dali_lab.dynamic.calling import call
from dali_lab.dynamic.classes import class_of, described, with_methods
from dali_lab.dynamic.namespace import PACKAGE, namespace
from dali_lab.dynamic.random import drawn_state
from dali_lab.dynamic.reader import Reader
from dali_lab.fn import make_function as make_node_function
from dali_lab.schema.operator import Operator
from dali_lab.schema.reference import docstring
from dali_lab.schema.registry import all_operators, each_operator


def make_function(operator: type[Operator]) -> Any:
    """The function for an operator."""

    def function(
        *inputs: object, batch_size: int | None = None, device: object = None, rng: object = None, **arguments: object
    ) -> Any:
        if batch_size is None and operator.name == "batch_permutation":
            raise ValueError(
                "`batch_size` must be specified for dynamic `batch_permutation` because it has no data inputs to infer"
                " the batch size from."
            )
        if operator.random and arguments.get("seed") is None:
            arguments["_random_state"] = drawn_state(rng)
        return call(operator, inputs, arguments, batch_size=batch_size, place=device)

    of_nodes = make_node_function(operator)
    *parents, last = operator.name.split(".")
    function.__name__ = function.__qualname__ = last
    function.__module__ = ".".join([PACKAGE, *parents])
    function.__doc__ = docstring(operator, values="Tensor or Batch", module="ndd")
    made = class_of(operator)
    function._op_class, function._schema = made, made._schema  # type: ignore[attr-defined]
    function._schema_name, function._generated = operator.schema_name, True  # type: ignore[attr-defined]
    known = [*inspect.signature(of_nodes).parameters.values()]
    own = ["batch_size", "rng"] if operator.random else ["batch_size"]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in own]
    function.__signature__ = inspect.Signature([*known, *more])  # type: ignore[attr-defined]
    return function


def make_reader(operator: type[Operator]) -> type[Reader]:
    """The class for a reader."""
    name = _class_name(operator.schema_name)
    members = {
        **described(operator),
        "_operator_name": operator.name,
        "__doc__": docstring(operator, values="Tensor or Batch", module="ndd"),
        "__module__": f"{PACKAGE}.readers",
    }
    return with_methods(type(name, (Reader,), members))


def _class_name(schema_name: str) -> str:
    return schema_name.split("__")[-1].lstrip("_")


def _offer(name: str, schema_name: str, operator: Callable[[], type[Operator]]) -> None:
    if shown := _name_of_reader(name, schema_name):
        namespace.offer(shown, lambda: make_reader(operator()))
    for each in _names_of_function(name):
        namespace.offer(each, lambda: make_function(operator()))


def _name_of_reader(name: str, schema_name: str) -> str:
    """The name of a reader's class; empty where the operator is none."""
    parents = name.split(".")[:-1]
    return ".".join([*parents, _class_name(schema_name)]) if "readers" in parents else ""


def _names_of_function(name: str) -> tuple[str, ...]:
    """The names of an operator's function; none where it is a reader, or for pipelines alone."""
    parents = name.split(".")[:-1]
    if "readers" in parents or parents[:1] in (["math"], ["_conditional"], ["inputs"]) or name in _ONLY_IN_PIPELINES:
        return ()
    return (name, *_OTHER_NAMES.get(name, ()))


def offered_functions() -> dict[str, type[Operator]]:
    """All public functions by their names, with dots in them."""
    return {
        each: operator
        for name, operator in all_operators().items()
        if not name.startswith("_")
        for each in _names_of_function(name)
    }


def offered_readers() -> dict[str, type[Operator]]:
    """All public classes of readers by their names, with dots in them."""
    return {
        shown: operator
        for name, operator in all_operators().items()
        if not name.startswith("_") and (shown := _name_of_reader(name, operator.schema_name))
    }


_OTHER_NAMES = {
    "peek_image_shape": ("experimental.peek_image_shape",),
    "resize": ("experimental.resize",),
    **{
        f"decoders.{name}": (f"experimental.decoders.{name}",)
        for name in ("image", "image_crop", "image_random_crop", "image_slice")
    },
}
"""Names from when these operators were experimental, which NVIDIA DALI keeps."""

_ONLY_IN_PIPELINES = {"external_source", "python_function", "dl_tensor_python_function", "torch_python_function"}

each_operator(_offer)
