"""Operators as classes: an object has the constant arguments, and its calls run the operator.

Functions and readers know their class (``ndd.resize._op_class``), under the names by which programs look up in NVIDIA
DALI what an operator is: its declaration, its places, whether it draws random numbers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from dali_lab.dynamic.namespace import PACKAGE
from dali_lab.dynamic.namespace import namespace as functions
from dali_lab.dynamic.places import device as as_device
from dali_lab.dynamic.random import RNG
from dali_lab.schema.namespaces import Namespace
from dali_lab.schema.op_schema import OpSchema
from dali_lab.schema.operator import Operator as Declaration
from dali_lab.schema.reference import docstring
from dali_lab.schema.registry import all_operators, each_operator

__path__: list[str] = []
T = TypeVar("T", bound="type[Operator]")


class Operator:
    """An operator with its constant arguments.

    Parameters
    ----------
    max_batch_size
        Batches may be larger: the number is not needed here.
    name
        For its node in errors.
    device
        Where it runs.
    **arguments
        Arguments of every call. With ``seed``, a random operator draws from a generator of its own.
    """

    _schema: ClassVar[OpSchema]
    _schema_name: ClassVar[str] = ""
    _supported_backends: ClassVar[frozenset[str]] = frozenset()
    _op_name: ClassVar[str] = ""
    _op_path: ClassVar[str] = ""
    _fn_name: ClassVar[str] = ""
    _fn_path: ClassVar[str] = ""
    _is_reader: ClassVar[bool] = False
    _is_stateful: ClassVar[bool] = False
    _has_random_state_arg: ClassVar[bool] = False
    _generated: ClassVar[bool] = True

    def __init__(
        self,
        max_batch_size: int | None = None,
        name: str | None = None,
        device: Any = "cpu",
        num_inputs: int | None = None,
        **arguments: Any,
    ) -> None:
        self._name = name
        self._device = as_device(device)
        self._rng = RNG(arguments["seed"]) if self._has_random_state_arg and arguments.get("seed") is not None else None
        self._arguments = {key: value for key, value in arguments.items() if key != "seed" or self._rng is None}

    def __call__(self, *inputs: Any, batch_size: int | None = None, rng: RNG | None = None, **arguments: Any) -> Any:
        """Run the operator on tensors or batches, with further arguments."""
        if self._has_random_state_arg:
            arguments["rng"] = rng or self._rng
        function = _function_of(type(self))
        return function(*inputs, batch_size=batch_size, device=self._device, **{**self._arguments, **arguments})


def described(declaration: type[Declaration]) -> dict[str, Any]:
    """The attributes of the class of an operator."""
    schema = OpSchema(declaration, declaration.schema_name)
    modules = schema.ModulePath()
    return {
        "_schema": schema,
        "_schema_name": declaration.schema_name,
        "_supported_backends": frozenset(declaration.devices),
        "_op_name": schema.OperatorName(),
        "_op_path": ".".join([*modules, schema.OperatorName()]),
        "_fn_name": declaration.name.rpartition(".")[2],
        "_fn_path": declaration.name,
        "_is_reader": "readers" in modules,
        "_is_stateful": schema.IsStateful(),
        "_has_random_state_arg": schema.HasRandomStateArg(),
    }


def make_class(declaration: type[Declaration]) -> type[Operator]:
    """The class for an operator."""
    members = described(declaration)
    members["__doc__"] = docstring(declaration, values="Tensor or Batch", module="ndd")
    members["__module__"] = __name__
    return with_methods(type(members["_op_name"], (Operator,), members))


def with_methods(made: T) -> T:
    """The class of an operator, whose methods have its documentation."""
    for method in ("__init__", "__call__"):
        setattr(made, method, _documented(getattr(made, method), made.__doc__ or ""))
    return made


def _documented(method: Callable[..., Any], text: str) -> Callable[..., Any]:
    def documented(self: Operator, *values: Any, **options: Any) -> Any:
        return method(self, *values, **options)

    documented.__name__, documented.__doc__ = method.__name__, text
    documented.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return documented


def class_of(declaration: type[Declaration]) -> type[Operator]:
    """The class of an operator, always the same one."""
    made: type[Operator] = _found(__name__, _path(declaration.schema_name), namespace)
    return made


def _function_of(owner: type[Operator]) -> Any:
    return _found(PACKAGE, owner._fn_path, functions)


def _found(root: str, path: str, names: Namespace) -> Any:
    *modules, last = path.split(".")
    module = sys.modules[".".join([root, *modules])]
    return vars(module).get(last) or names.attribute(module, last)


def _offer(name: str, schema_name: str, operator: Callable[[], type[Declaration]]) -> None:
    modules = name.split(".")[:-1]
    if "readers" not in modules:
        namespace.offer(_path(schema_name), lambda: make_class(operator()))


def _path(schema_name: str) -> str:
    return schema_name.replace("___", "__").replace("__", ".")


def _all() -> list[Any]:
    """The functions for operators, and the classes of readers."""
    offered = []
    for name, declaration in all_operators().items():
        *modules, last = name.split(".")
        if "readers" in modules:
            last = declaration.schema_name.rpartition("__")[2]
        module = sys.modules.get(".".join([PACKAGE, *modules]))
        made = getattr(module, last, None)
        if hasattr(made, "_schema"):
            offered.append(made)
    return offered


def __getattr__(name: str) -> Any:
    if name == "_all_functions":
        return [made for made in _all() if not isinstance(made, type)]
    if name == "_all_ops":
        return [made if isinstance(made, type) else made._op_class for made in _all()]
    if name == "Reader":
        from dali_lab.dynamic.reader import Reader

        return Reader
    return namespace.attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return namespace.names(sys.modules[__name__])


namespace = Namespace(__name__)
each_operator(_offer)
