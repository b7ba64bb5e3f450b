"""Operators as objects: ``ops.Resize(size=224)`` makes one, and calling it adds a node to the pipeline being defined.

The classes are made from the registry, under today's names (``ops.readers.File``) and those of older releases
(``ops.FileReader``), which warn.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from dali_lab.graph.recorder import DataNode as _DataNode  # noqa: F401  (programs import it from here)
from dali_lab.graph.tracing import traced_call
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, UnknownArgumentError, nearest
from dali_lab.model.foreign import from_capsule as _dlpack_to_array  # noqa: F401  (as NVIDIA DALI's private name)
from dali_lab.model.user_code import user_line
from dali_lab.schema.aliases import ALIASES, Alias, aliases_of, warn_deprecated, warn_renamed
from dali_lab.schema.namespaces import Namespace
from dali_lab.schema.op_schema import OpSchema
from dali_lab.schema.operator import Operator
from dali_lab.schema.reference import docstring
from dali_lab.schema.registry import all_operators, each_operator, find_operator

# Modules such as ``ops.readers`` are made by the namespace; this lets them be imported by name.
__path__: list[str] = []


def _dlpack_from_array(array: Any) -> Any:
    return array.__dlpack__()


class OperatorObject:
    """An operator with some of its arguments; calling it with inputs and further arguments adds a node.

    Parameters
    ----------
    **arguments
        Constants; ``device`` among them. Arguments that take nodes can be given to the call as well.

    Raises
    ------
    ArgumentError
        If there is no such argument, or it does not take the value.
    """

    operator_name: ClassVar[str] = ""
    schema_name: ClassVar[str] = ""
    defaults: ClassVar[Mapping[str, Any]] = {}
    outdated: ClassVar[str] = ""

    def __init__(self, *values: Any, **arguments: Any) -> None:
        if self.outdated:
            warn_renamed(self.outdated, f"ops.{_path(find_operator(self.operator_name).schema_name)}", 2)
        operator = find_operator(self.operator_name)
        if operator.deprecated:
            warn_deprecated(f"ops.{_path(self.schema_name)}", operator.deprecated)
        if len(values) > len(operator.positional_arguments):
            names = ", ".join(operator.positional_arguments) or "none"
            raise ArgumentTypeError(f"takes keyword arguments (positional ones: {names})", operator=self.operator_name)
        given = {**dict(zip(operator.positional_arguments, values, strict=False)), **arguments}
        self._arguments = {name: value for name, value in given.items() if value is not None}
        table = operator.argument_table
        for name in self._arguments:
            if name not in table and name != "device":
                raise UnknownArgumentError(
                    f'Argument "{name}" is not defined for operator "{operator.schema_name}"'
                    f"{nearest(name, [*table, 'device'])}",
                    operator=self.operator_name,
                    argument=name,
                    origin=user_line(),
                )

    @property
    def device(self) -> str:
        """The device that it is placed on."""
        return str(self._arguments.get("device", "cpu"))

    @property
    def preserve(self) -> bool:
        """Whether its nodes are kept even if nothing uses them."""
        return bool(self._arguments.get("preserve", False))

    @property
    def schema(self) -> OpSchema:
        """The operator's declaration."""
        return OpSchema(find_operator(self.operator_name), self.schema_name)

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        """Add a node with these inputs.

        Raises
        ------
        ArgumentError
            If an argument was given before, with another value.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        for name in given:
            if name in self._arguments and name != "name":
                raise ArgumentError(
                    "was given already, when the operator was made",
                    operator=self.operator_name,
                    argument=name,
                    origin=user_line(),
                )
        return self._call(inputs, {**self.defaults, **self._arguments, **given})

    def _call(self, inputs: Sequence[Any], arguments: dict[str, Any]) -> Any:
        return traced_call(find_operator(self.operator_name), inputs, arguments)


class _ExternalSource(OperatorObject):
    def _call(self, inputs: Sequence[Any], arguments: dict[str, Any]) -> Any:
        if arguments.get("batch") is None and arguments.get("parallel"):
            arguments["batch"] = False  # the object asks for samples here, the function for batches
        count = arguments.get("num_outputs")
        if count is None or inputs or arguments.get("source") is not None:
            return super()._call(inputs, arguments)
        # Data that is fed has a node of its own for each output; the function refuses to make them.
        return [super(_ExternalSource, self)._call((), _of_output(arguments, index)) for index in range(int(count))]


def _of_output(arguments: dict[str, Any], index: int) -> dict[str, Any]:
    """The arguments for one of several nodes that are fed."""
    found = {name: value for name, value in arguments.items() if name != "num_outputs"}
    for name in ("dtype", "ndim", "layout"):
        value = found.get(name)
        if isinstance(value, (list, tuple)):
            found[name] = value[index] if index < len(value) else None
    if found.get("name") is not None:
        found["name"] = f"{found['name']}[{index}]"
    return found


_BASES: dict[str, type[OperatorObject]] = {"external_source": _ExternalSource}


class Compose:
    """Operators one after the other, as one; without a pipeline's help they are plain callables."""

    def __init__(self, op_list: Sequence[Callable[..., Any]]) -> None:
        if not op_list:
            raise ValueError("Compose takes at least one operator")
        self._operators = list(op_list)

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        result: Any = self._operators[0](*inputs, **arguments)
        for operator in self._operators[1:]:
            result = operator(*result) if isinstance(result, (list, tuple)) else operator(result)
        return result


def cpu_ops() -> set[str]:
    """Names of the operators that run on the CPU, as in serialized pipelines: ``readers__File``."""
    return _placed("cpu")


def gpu_ops() -> set[str]:
    """Names of the operators that run on a GPU."""
    return _placed("gpu")


def mixed_ops() -> set[str]:
    """Names of the operators that take data on the CPU and give it on a GPU."""
    return _placed("mixed")


def _placed(device: str) -> set[str]:
    return {operator.schema_name for operator in all_operators().values() if device in operator.devices}


def _path(schema_name: str) -> str:
    return schema_name.replace("___", "__").replace("__", ".")


def _op_name(schema_name: str) -> str:
    """The name under ``fn`` of a serialized name, current or of older releases."""
    older = [alias.name for alias in ALIASES.values() if alias.schema_name == schema_name]
    return older[0] if older else find_operator(schema_name).name


def make_class(operator: type[Operator], alias: Alias | None = None) -> type[OperatorObject]:
    """The class under ``ops`` for an operator, or for an old name of it."""
    schema_name = alias.schema_name if alias is not None else operator.schema_name
    *path, last = _path(schema_name).split(".")
    content = {
        "operator_name": operator.name,
        "schema_name": schema_name,
        "defaults": dict(alias.defaults) if alias is not None else {},
        "outdated": f"ops.{_path(schema_name)}" if alias is not None and alias.warns else "",
        "__doc__": docstring(operator),
        "__module__": ".".join([__name__, *path]),
        "__qualname__": last,
    }
    return type(last, (_BASES.get(operator.name, OperatorObject),), content)


def __getattr__(name: str) -> Any:
    return _namespace.attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return _namespace.names(sys.modules[__name__])


def _offer(name: str, schema_name: str, operator: Callable[[], type[Operator]]) -> None:
    if not schema_name.startswith("_"):
        _namespace.offer(_path(schema_name), lambda: make_class(operator()))
    for alias in aliases_of(name):
        made = functools.partial(lambda alias: make_class(operator(), alias), alias)
        _namespace.offer(_path(alias.schema_name), made)


_namespace = Namespace(__name__)
each_operator(_offer)

__all__ = ["Compose", "OperatorObject", "cpu_ops", "gpu_ops", "mixed_ops"]
