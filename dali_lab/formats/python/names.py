"""Names of a pipeline definition that is read without being run: operators, types and constants alone.

There is no way from them to a file, a module or a builtin that does anything.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from dali_lab import fn, math, ops, types
from dali_lab.formats.python.plain_values import MODULES, Namespace, NeedsRunning, method
from dali_lab.graph import constants
from dali_lab.graph.recorder import DataNode, newaxis
from dali_lab.graph.subgraph import subgraph
from dali_lab.model import dtypes, scalars
from dali_lab.model import features as tfrecord
from dali_lab.model.references import PythonReference
from dali_lab.model.scalars import ScalarConstant
from dali_lab.ops import OperatorObject
from dali_lab.schema.registry import has_operator

_NODE_METHODS = ("gpu", "cpu", "shape", "property", "source_info")
_CONSTANT_METHODS = tuple(name for name in vars(ScalarConstant) if not name.startswith("_"))
POLICIES = ("auto_augment", "auto_augment_image_net", "rand_augment", "trivial_augment_wide")


class Definition:
    """The pipeline that ``Pipeline(…)`` makes: its settings, and its outputs once they are set.

    Raises
    ------
    TypeError
        If ``Pipeline`` does not take the arguments.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        from dali_lab.pipeline.pipeline import Pipeline

        self.settings = dict(inspect.signature(Pipeline).bind(*arguments, **settings).arguments)
        self.outputs: tuple[Any, ...] | None = None

    def set_outputs(self, *outputs: Any) -> None:
        """Keep the outputs."""
        self.outputs = outputs


class Instance:
    """An object of a pipeline class in the program: its attributes, and the functions of its class."""

    def __init__(self, methods: dict[str, ast.FunctionDef]) -> None:
        self.attributes: dict[str, Any] = {}
        self.methods = methods


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the program.

    Attributes
    ----------
    code
        Its definition.
    outside
        The variables of the function around it.
    first
        Arguments that come before those of a call: the object of a method.
    subgraph
        Whether it is a sub-graph: its nodes are named after the call.
    """

    code: ast.FunctionDef | ast.Lambda
    outside: dict[str, Any] | None = None
    first: tuple[Any, ...] = ()
    subgraph: bool = False

    def reference(self) -> PythonReference:
        """A reference in its place where an operator takes a function."""
        return PythonReference(None, f"{getattr(self.code, 'name', 'lambda')}, line {self.code.lineno}")


@cache
def _packages() -> dict[str, Namespace]:
    """The packages that programs import from, by their first names."""
    from dali_lab.auto_aug import auto_augment, rand_augment, trivial_augment

    def dali(path: str) -> Namespace:
        def part(name: str, names: dict[str, Any]) -> Namespace:
            return Namespace(f"{path}.{name}", names)

        policies = {}
        for module in (auto_augment, rand_augment, trivial_augment):
            short = module.__name__.rpartition(".")[2]
            names = {name: getattr(module, name) for name in POLICIES if hasattr(module, name)}
            policies[short] = part(f"auto_aug.{short}", names)
        parts = {
            **{name: part(name, {"": module}) for name, module in _OURS.items()},
            "auto_aug": part("auto_aug", policies),
            "tfrecord": part("tfrecord", {name: getattr(tfrecord, name) for name in tfrecord.__all__}),
            "newaxis": newaxis,
            "Pipeline": Definition,
            **({"subgraph": subgraph} if path == "dali_lab" else {}),
        }
        return Namespace(path, {**parts, "pipeline": part("pipeline", parts)})

    return {**MODULES, "dali_lab": dali("dali_lab"), "nvidia": Namespace("nvidia", {"dali": dali("nvidia.dali")})}


_OURS = {"fn": fn, "ops": ops, "types": types, "math": math}


def _known(path: str) -> Any:
    """The value of a dotted path from one of the packages; `None` if it is not known here."""
    first, *rest = path.split(".")
    value: Any = _packages().get(first)
    for name in rest:
        value = _in_namespace(value, name) if isinstance(value, Namespace) else None
    return value


def imported(statement: ast.Import | ast.ImportFrom) -> dict[str, Any]:
    """The names that an import binds; unknown objects are references and never imported."""
    result: dict[str, Any] = {}
    for alias in statement.names:
        name = alias.asname or alias.name
        if isinstance(statement, ast.Import):
            if alias.asname is None and (root := _known(alias.name.split(".")[0])) is not None:
                result[alias.name.split(".")[0]] = root
            else:
                found = _known(alias.name) if alias.asname else None
                result[name.split(".")[0]] = PythonReference(f"{alias.name}:", alias.name) if found is None else found
        elif alias.name == "*":
            result.update(_all_names(statement.module or ""))
        elif statement.level:
            result[name] = PythonReference(None, alias.name)
        else:
            found = _known(f"{statement.module}.{alias.name}")
            result[name] = PythonReference(f"{statement.module}:{alias.name}") if found is None else found
    return result


def _all_names(module: str) -> dict[str, Any]:
    """The names of ``from module import *``, of ``types`` and ``math``; none where that is not known."""
    space = _known(module)
    inner = space.names.get("") if isinstance(space, Namespace) else None
    if inner not in (types, math):
        return {}
    names = (name for name in dir(inner) if not name.startswith("_"))
    return {name: found for name in names if (found := _in_namespace(space, name)) is not None}


def attribute(value: Any, name: str, node: ast.AST) -> Any:
    """``value.name``, where that is one of the things known here.

    Raises
    ------
    NeedsRunning
        If it is not.
    """
    if isinstance(value, Namespace):
        found = _in_namespace(value, name)
        if found is None:
            raise NeedsRunning(node, f"{value.path} has no '{name}' that is known here")
        return found
    if isinstance(value, PythonReference):
        if value.name is None:
            raise NeedsRunning(node, f"{value.text} is not a module")
        return PythonReference(f"{value.name}{name}" if value.name.endswith(":") else f"{value.name}.{name}")
    if isinstance(value, Instance) and name in value.attributes:
        return value.attributes[name]
    if isinstance(value, Instance) and name in value.methods:
        return Function(value.methods[name], first=(value,))
    if isinstance(value, Definition) and name == "set_outputs":
        return value.set_outputs
    if name in {DataNode: _NODE_METHODS, ScalarConstant: _CONSTANT_METHODS}.get(type(value), ()):
        return getattr(value, name)
    if (found := method(value, name)) is not None:
        return found
    if isinstance(value, type) and issubclass(value, dtypes.NamedEnum) and name in value.__members__:
        return value[name]
    raise NeedsRunning(node, f"there is '.{name}' of a {type(value).__name__}")


def _in_namespace(space: Namespace, name: str) -> Any:
    inner = space.names.get("")
    if inner is None:
        return space.names.get(name)
    found = None if name.startswith("__") else getattr(inner, name, None)
    if isinstance(found, ModuleType) and found.__name__.startswith(("dali_lab.fn.", "dali_lab.ops.")):
        return Namespace(f"{space.path}.{name}", {"": found})
    return found if _is_public(inner, found, f"{space.path}.{name}".rpartition(".fn.")[2]) else None


def _is_public(module: ModuleType, found: Any, operator_name: str) -> bool:
    """Whether a name of ``fn``, ``ops``, ``types`` or ``math`` is one of its own, and not imported there."""
    if module is types:
        is_type = isinstance(found, type) and issubclass(found, dtypes.NamedEnum)
        return is_type or found in (constants.Constant, scalars.ScalarConstant) or isinstance(found, (str, int))
    if module is math:
        return getattr(found, "__name__", "") in math.__all__
    if isinstance(found, type):
        return found is ops.Compose or (issubclass(found, OperatorObject) and found is not OperatorObject)
    return found is not None and has_operator(operator_name)
