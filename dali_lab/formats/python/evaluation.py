"""Expressions of pipeline definitions, evaluated over the objects that tracing uses, and nothing else."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from dali_lab import ops
from dali_lab.conditionals import runtime as conditions
from dali_lab.formats.python.names import POLICIES, Function, attribute
from dali_lab.formats.python.plain_values import (
    BUILTINS,
    LARGEST_ARRAY,
    PLAIN,
    SEQUENCES,
    Namespace,
    NeedsRunning,
    bounded,
    called,
    check_form,
    check_parts,
    is_known,
    is_small,
    percent,
    repeated,
)
from dali_lab.graph import constants
from dali_lab.graph.recorder import DataNode, _NewAxis, next_call_number
from dali_lab.model import scalars
from dali_lab.model.references import PythonReference
from dali_lab.model.scalars import ScalarConstant
from dali_lab.ops import OperatorObject
from dali_lab.schema.registry import known_operator

_MOST_STEPS = 20_000
_MOST_SHOWN = 200
_MOST_AUGMENTATIONS = 9
_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class Evaluator:
    """Evaluates expressions.

    Attributes
    ----------
    line
        The line that is being evaluated.
    names
        The values of variables.
    """

    def __init__(self) -> None:
        self.line = 0
        self.names: dict[str, Any] = {}
        self._before = -1
        self._steps = 0

    def call_function(self, function: Function, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call a function of the program."""
        raise NotImplementedError

    def store(self, target: ast.expr, value: Any) -> None:
        """Assign a value."""
        raise NotImplementedError

    def step(self, node: ast.AST) -> None:
        """Count one turn of a loop or one call; there is an end to them."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise NeedsRunning(node, "it takes too many steps")

    def condition(self, node: ast.expr) -> Any:
        """A value that decides: a node, or something plain."""
        value = self.value(node)
        if not isinstance(value, (DataNode, *PLAIN)):
            raise NeedsRunning(node, f"a condition is a {type(value).__name__}")
        return value

    def items(self, node: ast.expr) -> Iterator[Any]:
        """The items that a loop goes over."""
        found = self.value(node)
        if not _is_listed(found):
            raise NeedsRunning(node, f"a loop goes over a {type(found).__name__}")
        for item in list(found):
            self.step(node)
            yield item

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
                    return conditions.ld(self.names[node.id])
                if node.id in BUILTINS:
                    return BUILTINS[node.id]
                raise NeedsRunning(node, f"'{node.id}' is not known here")
            case ast.Attribute():
                return attribute(self.value(node.value), node.attr, node)
            case ast.Tuple():
                return tuple(self.positional(node.elts))
            case ast.List():
                items = self.positional(node.elts)
                self._before = next_call_number()  # nodes in a list are not named after what takes the list
                return items
            case ast.Dict():
                return self._dictionary(node)
            case ast.Set():
                return self.positional(node.elts)
            case ast.JoinedStr():
                return "".join(self._part(item) for item in node.values)
            case ast.Lambda():
                return Function(node, self.names)
            case ast.NamedExpr():
                value = self.value(node.value)
                self.store(node.target, value)
                return value
            case ast.BoolOp():
                # The right side is evaluated for those samples alone that need it.
                join = conditions.and_ if isinstance(node.op, ast.And) else conditions.or_
                result = self.condition(node.values[0])
                for operand in node.values[1:]:
                    result = join(result, functools.partial(self.condition, operand))
                return self.placed(result)
            case ast.IfExp():
                branches = (functools.partial(self.value, branch) for branch in (node.body, node.orelse))
                return self.placed(conditions.if_expression(self.condition(node.test), *branches))
            case ast.BinOp():
                return self.operation(node.op, self.value(node.left), self.value(node.right), node)
            case ast.UnaryOp(op=ast.Not()):
                return self.placed(conditions.not_(self.condition(node.operand)))
            case ast.UnaryOp():
                return self._checked(node.op, node, self.value(node.operand))
            case ast.Compare():
                return self._compared(node, self.value(node.left), 0)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._comprehension(node, lambda: self.value(node.elt))
            case ast.DictComp():
                return dict(self._comprehension(node, lambda: (self.value(node.key), self.value(node.value))))
            case ast.Subscript():
                held = self.value(node.value)
                if not isinstance(held, (DataNode, *SEQUENCES, dict, str)):
                    raise NeedsRunning(node, f"a {type(held).__name__} is indexed")
                return self.placed(operator.getitem(held, self._index(node.slice)))
            case ast.Call():
                return self._call(node)
        raise NeedsRunning(node, f"there is an expression of the kind '{type(node).__name__.lower()}'")

    def positional(self, items: Iterable[ast.expr], objects: bool = False) -> list[Any]:
        """The values of arguments or elements, with starred lists taken apart; `objects`: any Python objects."""
        result: list[Any] = []
        for item in items:
            if objects:
                result.append(self._object(item))
            elif isinstance(item, ast.Starred):
                several = self.value(item.value)
                if not isinstance(several, SEQUENCES):
                    raise NeedsRunning(item, "starred arguments are no list")
                result = bounded([*result, *several], item)
            else:
                result.append(self.value(item))
        return result

    def keywords(self, items: Iterable[ast.keyword], objects: Container[str] = ()) -> dict[str, Any]:
        """The keyword arguments of a call; `objects` are the names of arguments that may be any Python object."""
        result: dict[str, Any] = {}
        for item in items:
            value = self._object(item.value) if item.arg in objects else self.value(item.value)
            if item.arg is not None:
                result[item.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
                result.update(value)
            else:
                raise NeedsRunning(item.value, "double-starred arguments are no dictionary")
        return result

    def _object(self, node: ast.expr) -> Any:
        """An argument that is a Python object, or a reference to it if it is not known here."""
        try:
            return self.value(node)
        except NeedsRunning:
            return PythonReference(None, ast.unparse(node)[:_MOST_SHOWN])

    def _compared(self, node: ast.Compare, left: Any, place: int) -> Any:
        """A comparison, or several joined by ``and``."""
        sign, right = node.ops[place], self.value(node.comparators[place])
        if isinstance(sign, (ast.Is, ast.IsNot)) and (left is None or right is None):
            result: Any = (left is right) == isinstance(sign, ast.Is)
        elif isinstance(sign, (ast.In, ast.NotIn)) and _is_listed(right) and _is_scalar(left, *right):
            result = (left in right) == isinstance(sign, ast.In)
        elif isinstance(sign, (ast.Eq, ast.NotEq)) and _is_scalar(left, right):
            result = (left == right) == isinstance(sign, ast.Eq)
        else:
            result = self._checked(sign, node, left, right)
        if place + 1 == len(node.ops):
            return result
        return self.placed(conditions.and_(result, lambda: self._compared(node, right, place + 1)))

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, item_of: Callable[[], Any]
    ) -> list[Any]:
        before, result = dict(self.names), []

        def turn(depth: int) -> None:
            if depth == len(node.generators):
                result.append(item_of())
                return
            generator = node.generators[depth]
            for item in self.items(generator.iter):
                self.store(generator.target, item)
                tests = [self.condition(test) for test in generator.ifs]
                if any(isinstance(test, DataNode) for test in tests):
                    raise NeedsRunning(node, "a node decides in a comprehension")
                if all(tests):
                    turn(depth + 1)

        turn(0)
        self.names.clear()
        self.names.update(before)
        self._before = next_call_number()
        return result

    def _dictionary(self, node: ast.Dict) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is not None:
                result[self.value(key)] = value
            elif isinstance(value, dict):
                result.update(value)
            else:
                raise NeedsRunning(node, "a dictionary is made of a value that is not a dictionary")
        return result

    def _part(self, node: ast.expr) -> str:
        """A part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return str(self.value(node))
        value = self.value(node.value)
        form = "" if node.format_spec is None else str(self.value(node.format_spec))
        check_form(form, node)
        check_parts(node, value)
        converted = _CONVERSIONS[node.conversion](value) if node.conversion in _CONVERSIONS else value
        return str(bounded(format(converted, form), node))

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))
        return tuple(map(self._index, node.elts)) if isinstance(node, ast.Tuple) else self.value(node)

    def operation(self, sign: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        """``left + right``, and so on, on nodes, numbers, text and lists."""
        if isinstance(left, str) and isinstance(sign, ast.Mod):
            return percent(left, right, node)
        if isinstance(sign, ast.Add) and type(left) is type(right) and isinstance(left, (str, list, tuple)):
            return bounded(left + right, node)
        for items, count in ((left, right), (right, left)):
            if isinstance(items, (str, list, tuple)) and isinstance(sign, ast.Mult):
                return repeated(items, count, node)
        plain = not isinstance(left, DataNode) and not isinstance(right, DataNode)
        if plain and isinstance(sign, (ast.Pow, ast.LShift)) and not (is_small(left) and is_small(right)):
            raise NeedsRunning(node, "there is a large number")
        return self._checked(sign, node, left, right)

    def _checked(self, sign: ast.AST, node: ast.AST, *operands: Any) -> Any:
        """Apply an operator to nodes and numbers; other things may have operators that do anything."""
        if type(sign) not in _OPERATORS:
            raise NeedsRunning(node, "there is an operator of a kind that is not known here")
        for operand in operands:
            if not isinstance(operand, (DataNode, ScalarConstant, bool, int, float, np.generic, np.ndarray)):
                raise NeedsRunning(node, f"there is an operation on a {type(operand).__name__}")
        return self.placed(bounded(_OPERATORS[type(sign)](*operands), node))

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "hasattr" and "hasattr" not in self.names:
            return self._has(node)
        function = self.value(node.func)
        objects = _objects_of(function)
        arguments = self.positional(node.args, "source" in objects)
        keywords = self.keywords(node.keywords, objects)
        self.line = node.lineno
        if isinstance(function, Function):
            self.step(node)
            return self.call_function(function, [*function.first, *arguments], keywords)
        if isinstance(function, PythonReference) or not callable(function):
            name = getattr(node.func, "id", getattr(node.func, "attr", "something"))
            raise NeedsRunning(node, f"'{name}' is called, which is not an operator")
        if is_known(function):
            return called(function, arguments, keywords, node)
        if not isinstance(function, _NewAxis) and function not in (constants.Constant, scalars.ScalarConstant):
            _check_size(function, arguments, keywords, node)
            function = conditions.call(function) if getattr(function, "__name__", "") in POLICIES else function
            arguments = list(map(_argument, arguments))
            keywords = {key: _argument(item) for key, item in keywords.items()}
        return self.placed(function(*arguments, **keywords))

    def _has(self, node: ast.Call) -> bool:
        """``hasattr`` of a known module."""
        values = self.positional(node.args)
        if len(values) != 2 or node.keywords or not isinstance(values[0], Namespace) or not isinstance(values[1], str):
            raise NeedsRunning(node, "'hasattr' is called for something that is not known here")
        try:
            attribute(values[0], values[1], node)
        except NeedsRunning:
            return False
        return True

    def placed(self, value: Any) -> Any:
        """Say where the nodes that a call made were written."""
        several = value.values() if isinstance(value, dict) else value
        for item in several if isinstance(value, (tuple, list, dict)) else (value,):
            if isinstance(item, DataNode):
                item.source.origin = f"line {self.line}"
        if isinstance(value, np.ndarray) and value.size > LARGEST_ARRAY:
            raise ValueError("there is an array of more than a million numbers")
        return value


def _check_size(function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> None:
    """Refuse what would take long or much memory."""
    if function is np.zeros:
        shape = arguments[0] if arguments else keywords.get("shape")
        extents = shape if isinstance(shape, (tuple, list)) else (shape,)
        whole = all(isinstance(extent, int) and 0 <= extent <= LARGEST_ARRAY for extent in extents)
        if not whole or len(extents) > 32 or prod(extents) > LARGEST_ARRAY:
            raise NeedsRunning(node, "there is a large array")
    if function is ops.Compose and not all(isinstance(item, OperatorObject) for item in (arguments or [()])[0]):
        raise NeedsRunning(node, "Compose() gets a value that is not an operator")
    count = arguments[1] if len(arguments) > 1 else keywords.get("n", 0)
    if getattr(function, "__name__", "") == "rand_augment" and count not in range(_MOST_AUGMENTATIONS):
        raise NeedsRunning(node, "there are too many augmentations")


def _objects_of(function: Any) -> frozenset[str]:
    """The arguments of an operator that are Python objects, such as the source of ``fn.external_source``."""
    if isinstance(function, type):
        name = getattr(function, "operator_name", "")
    else:
        path = f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"
        name = path.rpartition("dali_lab.fn.")[2] if "dali_lab.fn." in path else ""
    found = known_operator(name) if isinstance(name, str) and name else None
    return frozenset(found.python_objects) if found is not None else frozenset()


def _argument(value: Any) -> Any:
    return value.reference() if isinstance(value, Function) else value


def _is_listed(value: Any) -> bool:
    return isinstance(value, (*SEQUENCES, dict))


def _is_scalar(*values: Any) -> bool:
    return all(isinstance(value, (bool, int, float, str, type(None))) for value in values)
