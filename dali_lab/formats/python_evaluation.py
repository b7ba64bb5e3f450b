"""Evaluates the small part of Python that pipeline definitions are mostly written in, and nothing else.

Names reach operators, types and constants alone; there is no way to a file, a module or a builtin that does anything.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from dali_lab import fn, math, types
from dali_lab.conditionals import runtime as conditions
from dali_lab.conditionals.liveness import reads, writes
from dali_lab.data_node import DataNode, _NewAxis, newaxis, next_call_number
from dali_lab.formats.values import PythonReference
from dali_lab.graph.naming import node_name
from dali_lab.schema.registry import has_operator
from dali_lab.types import ScalarConstant

_LARGEST = 1_000_000
_PACKAGES = ("dali_lab", "nvidia.dali")
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_BUILTINS: dict[str, Any] = {"float": float, "int": int, "bool": bool, "abs": abs, "list": list, "tuple": tuple}
_NODE_METHODS = ("gpu", "cpu", "shape", "property", "source_info")
_CONSTANT_METHODS = tuple(name for name in vars(ScalarConstant) if not name.startswith("_"))
_NUMPY = (
    "array", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool_", "zeros", "pi", "e", "inf", "nan",
)  # fmt: skip


class NeedsRunning(Exception):
    """Code that says something only when it is run."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        self.line = getattr(node, "lineno", 0)
        self.reason = reason
        super().__init__(reason)


class _Namespace:
    """A package or module, as far as its names may be used."""

    def __init__(self, path: str, names: dict[str, Any]) -> None:
        self.path = path
        self.names = names


def _package(path: str) -> _Namespace:
    parts = {
        "fn": _Namespace(f"{path}.fn", {"": fn}),
        "types": _Namespace(f"{path}.types", {"": types}),
        "math": _Namespace(f"{path}.math", {"": math}),
        "newaxis": newaxis,
        "pipeline_def": None,
        "Pipeline": None,
    }
    return _Namespace(path, {**parts, "pipeline": _Namespace(f"{path}.pipeline", parts)})


class Evaluator:
    """Evaluates statements of a module and of one function in it.

    Attributes
    ----------
    line
        The line that is being evaluated.
    names
        What the names stand for.
    """

    def __init__(self) -> None:
        self.line = 0
        self.names: dict[str, Any] = {}
        self._before = -1
        self._read_later: frozenset[str] = frozenset()

    def look_around(self, module: ast.Module) -> None:
        """Take in the imports and constants of a module."""
        for statement in module.body:
            self._define(statement)

    def _define(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                self._import(alias.name, alias.asname)
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                self.names[alias.asname or alias.name] = self._imported(
                    statement.module or "", alias.name, statement.level
                )
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            self.names[statement.name] = PythonReference(None, f"{statement.name}, line {statement.lineno}")
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            try:
                self._assign(statement)
            except (NeedsRunning, TypeError, ValueError, ArithmeticError, LookupError, RuntimeError):
                for target in statement.targets if isinstance(statement, ast.Assign) else (statement.target,):
                    for node in ast.walk(target):
                        if isinstance(node, ast.Name):
                            self.names.pop(node.id, None)

    def _import(self, path: str, name: str | None) -> None:
        root = next((package for package in _PACKAGES if path == package or path.startswith(f"{package}.")), None)
        if path == "numpy":
            self.names[name or "numpy"] = _Namespace("numpy", {key: getattr(np, key) for key in _NUMPY})
        elif root is not None:
            if name is not None:
                try:
                    self.names[name] = self._member(_package(root), path[len(root) :].strip("."))
                except NeedsRunning:
                    self.names[name] = PythonReference(f"{path}:", path)
            else:
                whole = _package(root)
                self.names[root.split(".")[0]] = whole if "." not in root else _Namespace("nvidia", {"dali": whole})
        else:
            self.names[name or path.split(".")[0]] = PythonReference(f"{path}:", path)

    def _imported(self, module: str, name: str, level: int) -> Any:
        root = next((package for package in _PACKAGES if module == package or module.startswith(f"{package}.")), None)
        if root is not None and not level:
            try:
                return self._member(_package(root), f"{module[len(root) :].strip('.')}.{name}".strip("."))
            except NeedsRunning:
                # Something else of the package, such as an iterator; it matters only if the pipeline uses it.
                return PythonReference(f"{module}:{name}")
        if module == "nvidia" and name == "dali":
            return _package("nvidia.dali")
        if module == "numpy" and name in _NUMPY:
            return getattr(np, name)
        return PythonReference(f"{module}:{name}") if not level else PythonReference(None, name)

    def _member(self, space: Any, path: str) -> Any:
        for part in path.split(".") if path else ():
            space = self._attribute(space, part, ast.Name(part))
        return space

    def bind(self, function: ast.FunctionDef) -> None:
        """Give the parameters of a function their defaults."""
        arguments = function.args
        if arguments.vararg or arguments.kwarg:
            raise NeedsRunning(function, "it takes any arguments")
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
        defaults += arguments.defaults
        for parameter, default in [
            *zip(plain, defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]:
            if default is None:
                raise NeedsRunning(parameter, f"its argument '{parameter.arg}' has no default")
            self.names[parameter.arg] = self.value(default)

    def run(self, body: Sequence[ast.stmt]) -> tuple[Any, ...]:
        """Evaluate statements up to the return; gives what is returned."""
        for place, statement in enumerate(body):
            self.line = statement.lineno
            if isinstance(statement, ast.Return):
                result = self.value(statement.value) if statement.value is not None else ()
                return tuple(result) if isinstance(result, (tuple, list)) else (result,)
            self._statement(statement, body[place + 1 :])
        return ()

    def _statement(self, statement: ast.stmt, after: Sequence[ast.stmt]) -> None:
        self.line = statement.lineno
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            self._assign(statement)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id not in self.names:
                raise NeedsRunning(statement, f"'{statement.target.id}' is not known here")
            self._before = next_call_number()
            value = self._operation(
                statement.op, self.names[statement.target.id], self.value(statement.value), statement
            )
            self._store(statement.target, value)
        elif isinstance(statement, ast.If):
            self._if(statement, after)
        elif isinstance(statement, ast.Expr):
            self.value(statement.value)
        elif not isinstance(statement, ast.Pass):
            raise NeedsRunning(statement, f"there is a statement '{type(statement).__name__.lower()}'")

    def _if(self, statement: ast.If, after: Sequence[ast.stmt]) -> None:
        """A condition: on a node, both branches are evaluated and joined, as tracing does."""
        test = self._condition(statement.test)
        written = writes([*statement.body, *statement.orelse])
        if not all(name.isidentifier() for name in written):
            raise NeedsRunning(statement, "a branch writes something other than a variable")
        later = reads(*after) | self._read_later
        outputs = [name for name in written if name in later]
        names = (*outputs, *(name for name in written if name not in outputs))

        def branch(statements: Sequence[ast.stmt]) -> Callable[[], None]:
            def evaluate() -> None:
                before, self._read_later = self._read_later, later
                for place, inner in enumerate(statements):
                    if isinstance(inner, ast.Return):
                        raise NeedsRunning(inner, "there is a return inside a condition")
                    self._statement(inner, statements[place + 1 :])
                self._read_later = before

            return evaluate

        def get_state() -> tuple[Any, ...]:
            return tuple(self.names.get(name, conditions.undefined(name)) for name in names)

        def set_state(state: tuple[Any, ...]) -> None:
            for name, value in zip(names, state, strict=True):
                if conditions.defined(value):
                    self.names[name] = value
                else:
                    self.names.pop(name, None)

        conditions.if_statement(
            test, branch(statement.body), branch(statement.orelse), get_state, set_state, names, len(outputs)
        )

    def _condition(self, node: ast.expr) -> Any:
        """A value that decides: a node, or something plain."""
        value = self.value(node)
        if not isinstance(value, (DataNode, bool, int, float, str, tuple, list, dict, np.generic, type(None))):
            raise NeedsRunning(node, f"a {type(value).__name__} decides something")
        return value

    def _logical(self, node: ast.BoolOp) -> Any:
        """``and`` and ``or``, where the right side is evaluated for those samples alone that need it."""
        join = conditions.and_ if isinstance(node.op, ast.And) else conditions.or_
        result = self._condition(node.values[0])
        for operand in node.values[1:]:
            result = join(result, functools.partial(self._condition, operand))
        return self._placed(result)

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        if statement.value is None:
            return
        self._before = next_call_number()
        value = self.value(statement.value)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets[::-1]:
            self._store(target, value)

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            if isinstance(value, (tuple, list)) and value and all(isinstance(item, DataNode) for item in value):
                self._suggest(value[0], (target.id,))
            elif isinstance(value, DataNode):
                self._suggest(value, (target.id,))
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
                raise ValueError(f"takes {len(target.elts)} values apart")
            for item, each in zip(target.elts, value, strict=True):
                self._store(item, each)
            names = tuple(item.id if isinstance(item, ast.Name) else "_" for item in target.elts)
            if len({id(item.source) for item in value if isinstance(item, DataNode)}) == 1 and isinstance(
                value[0], DataNode
            ):
                if value[0].source.number > self._before:
                    value[0].source.suggested = ""
                self._suggest(value[0], names)
        else:
            raise NeedsRunning(target, "a value goes to something other than a variable")

    def _suggest(self, node: DataNode, names: tuple[str, ...]) -> None:
        """Name a node after the variable that takes it from the call that makes it."""
        if not node.source.suggested and node.source.number > self._before:
            node.source.suggested = node_name(names)

    def keywords(self, items: Iterable[ast.keyword]) -> dict[str, Any]:
        """The keyword arguments of a call."""
        result: dict[str, Any] = {}
        for item in items:
            value = self.value(item.value)
            if item.arg is None:
                if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
                    raise NeedsRunning(item.value, "arguments come from something other than a dictionary")
                result.update(value)
            else:
                result[item.arg] = value
        return result

    def value(self, node: ast.expr) -> Any:
        """The value of an expression.

        Raises
        ------
        NeedsRunning
            If it is none of those that are known here.
        """
        self.line = getattr(node, "lineno", self.line)
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                if node.id in self.names:
                    return self.names[node.id]
                if node.id in _BUILTINS:
                    return _BUILTINS[node.id]
                raise NeedsRunning(node, f"'{node.id}' is not known here")
            case ast.Attribute():
                return self._attribute(self.value(node.value), node.attr, node)
            case ast.Tuple() | ast.List():
                items = [self.value(item) for item in node.elts]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.Dict():
                if any(key is None for key in node.keys):
                    raise NeedsRunning(node, "a dictionary is made out of others")
                return {
                    self.value(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None
                }
            case ast.BoolOp():
                return self._logical(node)
            case ast.IfExp():
                test = self._condition(node.test)
                branches = functools.partial(self.value, node.body), functools.partial(self.value, node.orelse)
                return self._placed(conditions.if_expression(test, *branches))
            case ast.BinOp():
                return self._operation(node.op, self.value(node.left), self.value(node.right), node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
                left, right = self.value(node.left), self.value(node.comparators[0])
                return self._checked(_COMPARED[type(node.ops[0])], node, left, right)
            case ast.Subscript():
                return self._placed(operator.getitem(self._indexed(node), self._index(node.slice)))
            case ast.Call():
                return self._call(node)
        raise NeedsRunning(node, f"there is an expression of the kind '{type(node).__name__.lower()}'")

    def _indexed(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if not isinstance(value, (DataNode, tuple, list, dict)):
            raise NeedsRunning(node, "something other than a node is indexed")
        return value

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(item) for item in node.elts)
        return self.value(node)

    def _unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self._placed(conditions.not_(self._condition(node.operand)))
        value = self.value(node.operand)
        return self._checked(_UNARY[type(node.op)], node, value)

    def _operation(self, sign: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        function = _BINARY.get(type(sign))
        if function is None:
            raise NeedsRunning(node, "there is an operator that nodes do not have")
        plain = not isinstance(left, DataNode) and not isinstance(right, DataNode)
        if plain and isinstance(sign, (ast.Pow, ast.LShift)) and not (_is_small(left) and _is_small(right)):
            raise NeedsRunning(node, "there is a large number")
        return self._checked(function, node, left, right)

    def _checked(self, function: Callable[..., Any], node: ast.AST, *operands: Any) -> Any:
        """Apply an operator to nodes and numbers; other things may have operators that do anything."""
        for operand in operands:
            if not isinstance(operand, (DataNode, ScalarConstant, bool, int, float, np.generic, np.ndarray)):
                raise NeedsRunning(node, f"there is an operation on a {type(operand).__name__}")
        return self._placed(function(*operands))

    def _attribute(self, value: Any, name: str, node: ast.AST) -> Any:
        if isinstance(value, _Namespace):
            inner = value.names.get("")
            if inner is None:
                if name in value.names:
                    return value.names[name]
            elif not name.startswith("__"):
                found = getattr(inner, name, None)
                if isinstance(found, ModuleType) and found.__name__.startswith("dali_lab.fn."):
                    return _Namespace(f"{value.path}.{name}", {"": found})
                elif found is not None and _is_public(inner, found, f"{value.path}.{name}".rpartition(".fn.")[2]):
                    return found
            raise NeedsRunning(node, f"{value.path} has no '{name}' that is known here")
        if isinstance(value, PythonReference):
            if value.name is None:
                raise NeedsRunning(node, f"{value.text} is no module")
            return PythonReference(f"{value.name}{name}" if value.name.endswith(":") else f"{value.name}.{name}")
        methods = _NODE_METHODS if isinstance(value, DataNode) else _CONSTANT_METHODS
        if isinstance(value, (DataNode, ScalarConstant)) and name in methods:
            return getattr(value, name)
        if isinstance(value, type) and issubclass(value, types._NamedEnum) and name in value.__members__:
            return value[name]
        raise NeedsRunning(node, f"there is '.{name}' of a {type(value).__name__}")

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if any(isinstance(item, ast.Starred) for item in node.args):
            raise NeedsRunning(node, "arguments come from a list")
        arguments = [self.value(item) for item in node.args]
        keywords = self.keywords(node.keywords)
        self.line = node.lineno
        if isinstance(function, _NewAxis) or function in (types.Constant, types.ScalarConstant):
            return self._placed(function(*arguments, **keywords))
        if isinstance(function, PythonReference) or not callable(function):
            name = getattr(node.func, "id", getattr(node.func, "attr", "something"))
            raise NeedsRunning(node, f"'{name}' is called, which is no operator")
        if function is np.zeros and not _is_small_shape(arguments[0] if arguments else keywords.get("shape")):
            raise NeedsRunning(node, "there is a large array")
        if function in (list, tuple) and sum(isinstance(item, (tuple, list)) for item in arguments) != len(arguments):
            raise NeedsRunning(node, "a list is made of something that is none")
        return self._placed(function(*arguments, **keywords))

    def _placed(self, value: Any) -> Any:
        """Say where the nodes that a call made were written."""
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, DataNode):
                item.source.origin = f"line {self.line}"
        if isinstance(value, np.ndarray) and value.size > _LARGEST:
            raise ValueError("there is an array of more than a million numbers")
        return value


def _is_small(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) and abs(value) <= 1024


def _is_small_shape(shape: Any) -> bool:
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(extent, int) and 0 <= extent <= _LARGEST for extent in extents) or len(extents) > 32:
        return False
    return prod(extents) <= _LARGEST


def _is_public(module: ModuleType, found: Any, operator_name: str) -> bool:
    """Whether a name of ``fn``, ``types`` or ``math`` is one of its own, and not what it imports."""
    if module is types:
        is_type = isinstance(found, type) and issubclass(found, types._NamedEnum)
        return is_type or found in (types.Constant, types.ScalarConstant) or isinstance(found, (str, int))
    if module is math:
        return getattr(found, "__module__", "") == math.__name__
    return has_operator(operator_name)
