"""What names mean in a pipeline definition that is read without being run: operators, types and constants alone.

There is no way from them to a file, a module or a builtin that does anything.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from dali_lab import fn, math, ops, types
from dali_lab.formats.python.plain_values import MODULES, Namespace, NeedsRunning, method
from dali_lab.graph import constants
from dali_lab.graph.recorder import DataNode, newaxis
from dali_lab.model import dtypes, scalars
from dali_lab.model import features as tfrecord
from dali_lab.model.references import PythonReference
from dali_lab.model.scalars import ScalarConstant
from dali_lab.ops import OperatorObject
from dali_lab.schema.registry import has_operator

LARGEST = 1_000_000
STAND_INS: dict[str, Any] = {"batch_size": 8, "num_threads": 2, "device_id": None}
"""What constructors of pipeline classes are given where nobody says otherwise."""
_PACKAGES = ("dali_lab", "nvidia.dali")
_NODE_METHODS = ("gpu", "cpu", "shape", "property", "source_info")
_CONSTANT_METHODS = tuple(name for name in vars(ScalarConstant) if not name.startswith("_"))
POLICIES = ("auto_augment", "auto_augment_image_net", "rand_augment", "trivial_augment_wide")
_NUMPY = (
    "array", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool_", "zeros", "pi", "e", "inf", "nan",
)  # fmt: skip


class Definition:
    """What ``Pipeline(…)`` gives: settings, and the outputs once they are set.

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

    def __init__(self, methods: dict[str, ast.FunctionDef] | None = None) -> None:
        self.attributes: dict[str, Any] = {}
        self.methods = methods or {}


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the program.

    Attributes
    ----------
    code
        What it does.
    outside
        The variables of the function around it.
    first
        Arguments that come before those of a call: the object of a method.
    """

    code: ast.FunctionDef | ast.Lambda
    outside: dict[str, Any] | None = None
    first: tuple[Any, ...] = ()

    def reference(self) -> PythonReference:
        """What stands for it where an operator takes a function."""
        return PythonReference(None, f"{getattr(self.code, 'name', 'lambda')}, line {self.code.lineno}")


def _auto_aug(path: str) -> Namespace:
    """The policies of automatic augmentation, as far as they are called with nodes and plain values."""
    from dali_lab.auto_aug import auto_augment, rand_augment, trivial_augment

    modules = (auto_augment, rand_augment, trivial_augment)
    spaces = {}
    for module in modules:
        short = module.__name__.rpartition(".")[2]
        names = {name: getattr(module, name) for name in POLICIES if hasattr(module, name)}
        spaces[short] = Namespace(f"{path}.auto_aug.{short}", names)
    return Namespace(f"{path}.auto_aug", spaces)


def package(path: str) -> Namespace:
    """NVIDIA DALI's package, or this one."""
    parts = {
        "fn": Namespace(f"{path}.fn", {"": fn}),
        "ops": Namespace(f"{path}.ops", {"": ops}),
        "types": Namespace(f"{path}.types", {"": types}),
        "math": Namespace(f"{path}.math", {"": math}),
        "auto_aug": _auto_aug(path),
        "tfrecord": Namespace(f"{path}.tfrecord", {name: getattr(tfrecord, name) for name in tfrecord.__all__}),
        "newaxis": newaxis,
        "pipeline_def": None,
        "Pipeline": Definition,
    }
    return Namespace(path, {**parts, "pipeline": Namespace(f"{path}.pipeline", parts)})


def _root(path: str) -> str | None:
    return next((each for each in _PACKAGES if path == each or path.startswith(f"{each}.")), None)


def imported_module(path: str, name: str | None) -> tuple[str, Any]:
    """What ``import path as name`` binds: the name, and what it stands for."""
    root = _root(path)
    if path in MODULES:
        return (name, MODULES[path]) if name else (path.split(".")[0], MODULES[path.split(".")[0]])
    if path == "numpy":
        return name or "numpy", Namespace("numpy", {key: getattr(np, key) for key in _NUMPY})
    if root is None:
        return name or path.split(".")[0], PythonReference(f"{path}:", path)
    if name is not None:
        try:
            return name, _member(package(root), path[len(root) :].strip("."))
        except NeedsRunning:
            return name, PythonReference(f"{path}:", path)
    whole = package(root)
    return root.split(".")[0], whole if "." not in root else Namespace("nvidia", {"dali": whole})


def imported_name(module: str, name: str, level: int) -> Any:
    """What ``from module import name`` binds."""
    root = _root(module)
    if root is not None and not level:
        try:
            return _member(package(root), f"{module[len(root) :].strip('.')}.{name}".strip("."))
        except NeedsRunning:
            # Something else of the package, such as an iterator; it matters only if the pipeline uses it.
            return PythonReference(f"{module}:{name}")
    if module == "nvidia" and name == "dali":
        return package("nvidia.dali")
    if module == "numpy" and name in _NUMPY:
        return getattr(np, name)
    if module in MODULES and not level and name in MODULES[module].names:
        return MODULES[module].names[name]
    return PythonReference(f"{module}:{name}") if not level else PythonReference(None, name)


def all_names(module: str) -> dict[str, Any]:
    """What ``from module import *`` binds, of ``types`` and ``math``; nothing where that is not known."""
    try:
        space = _member(package(root), module[len(root) :].strip(".")) if (root := _root(module)) else None
    except NeedsRunning:
        return {}
    if not isinstance(space, Namespace) or space.names.get("") not in (types, math):
        return {}
    names = (name for name in dir(space.names[""]) if not name.startswith("_"))
    return {name: found for name in names if (found := _in_namespace(space, name)) is not None}


def _member(space: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        space = attribute(space, part, ast.Name(part))
    return space


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
            raise NeedsRunning(node, f"{value.text} is no module")
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
    if name.startswith("__"):
        return None
    found = getattr(inner, name, None)
    if isinstance(found, ModuleType) and found.__name__.startswith(("dali_lab.fn.", "dali_lab.ops.")):
        return Namespace(f"{space.path}.{name}", {"": found})
    if found is not None and _is_public(inner, found, f"{space.path}.{name}".rpartition(".fn.")[2]):
        return found
    return None


def _is_public(module: ModuleType, found: Any, operator_name: str) -> bool:
    """Whether a name of ``fn``, ``ops``, ``types`` or ``math`` is one of its own, and not what it imports."""
    if module is types:
        is_type = isinstance(found, type) and issubclass(found, dtypes.NamedEnum)
        return is_type or found in (constants.Constant, scalars.ScalarConstant) or isinstance(found, (str, int))
    if module is math:
        return getattr(found, "__name__", "") in math.__all__
    if isinstance(found, type):
        return found is ops.Compose or (issubclass(found, OperatorObject) and found is not OperatorObject)
    return has_operator(operator_name)


def is_small(value: Any) -> bool:
    """Whether a number is one that powers and shifts may be made of."""
    return isinstance(value, (bool, int, float)) and abs(value) <= 1024


def is_small_shape(shape: Any) -> bool:
    """Whether an array of this shape is made without a thought."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(extent, int) and 0 <= extent <= LARGEST for extent in extents) or len(extents) > 32:
        return False
    return prod(extents) <= LARGEST
