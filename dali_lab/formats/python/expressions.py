"""Nodes of arithmetic and indexing as Python expressions: ``images * 0.5 + bias``, ``x[10:20]``, ``math.sqrt(x)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dali_lab.formats.python.layout import Bracket, Piece, call, flat, number
from dali_lab.graph.graph import Edge, Node
from dali_lab.model import dtypes, scalars
from dali_lab.model.promotion import OPERAND_LETTERS, constant_dtype
from dali_lab.schema.registry import find_operator

ATOM, POWER, UNARY, COMPARISON = 14, 13, 12, 5
_BINARY = {
    "add": ("+", 10),
    "sub": ("-", 10),
    "mul": ("*", 11),
    "fdiv": ("/", 11),
    "div": ("//", 11),
    "mod": ("%", 11),
    "pow": ("**", POWER),
    "lshift": ("<<", 9),
    "rshift": (">>", 9),
    "bitand": ("&", 8),
    "bitxor": ("^", 7),
    "bitor": ("|", 6),
    "eq": ("==", COMPARISON),
    "neq": ("!=", COMPARISON),
    "lt": ("<", COMPARISON),
    "leq": ("<=", COMPARISON),
    "gt": (">", COMPARISON),
    "geq": (">=", COMPARISON),
}
_UNARY = {"minus": "-", "bitnot": "~"}
_MIRRORED = {"eq": "eq", "neq": "neq", "lt": "gt", "leq": "geq", "gt": "lt", "geq": "leq"}


@dataclass(frozen=True)
class Expression:
    """Python text with its precedence."""

    piece: Piece
    precedence: int = ATOM

    def within(self, least: int) -> str:
        """The text, in parentheses if it binds less than `least`."""
        text = flat(self.piece)
        return f"({text})" if self.precedence < least else text


def is_expression(node: Node) -> bool:
    """Whether the node may be written as an expression."""
    return find_operator(node.op).syntax in ("arithmetic", "index", "whole index")


def is_arithmetic(node: Node) -> bool:
    """Whether the node is a sign or a function of ``math``."""
    return find_operator(node.op).syntax == "arithmetic"


def expression(node: Node, operand: Callable[[Edge], Expression], *, exact: bool) -> Expression | None:
    """The node as an expression, or `None` if it cannot be written as one.

    Parameters
    ----------
    operand
        Gives the expression for an input.
    exact
        Only forms that trace back to the very same node.
    """
    syntax = find_operator(node.op).syntax
    if syntax == "index":
        return _subscript(node, operand)
    if syntax == "whole index":
        count = node.arguments.get("num_subscripts", 0)
        if set(node.arguments) != {"num_subscripts"} or len(node.inputs) != 1 or count not in range(1, 33):
            return None
        head = f"{operand(node.inputs[0]).within(ATOM)}["
        return Expression(Bracket(head, (("", ":"),) * count, "]"))
    return _arithmetic(node, operand, exact)


def _arithmetic(node: Node, operand: Callable[[Edge], Expression], exact: bool) -> Expression | None:
    name = node.op.removeprefix("math.")
    constants = {letter: node.arguments[letter] for letter in OPERAND_LETTERS if node.arguments.get(letter) is not None}
    known = {*OPERAND_LETTERS, *(f"{letter}_dtype" for letter in OPERAND_LETTERS)}
    if set(node.arguments) - known or node.connections or not node.inputs:
        return None
    operands: list[Expression] = []
    rest = list(node.inputs)
    for letter in OPERAND_LETTERS[: len(constants) + len(rest)]:
        if letter not in constants:
            if not rest:
                return None
            operands.append(operand(rest.pop(0)))
            continue
        constant = _constant(constants[letter], node.arguments.get(f"{letter}_dtype"), exact)
        if constant is None:
            return None
        operands.append(constant)
    if name in _MIRRORED and "a" in constants and len(operands) == 2:
        # Python itself turns ``2 < x`` around, so it cannot be written with the constant first.
        if exact:
            return None
        name, operands = _MIRRORED[name], operands[::-1]
    if name == "plus":
        return None if exact else operands[0]
    if name in _UNARY and len(operands) == 1:
        return Expression(_UNARY[name] + operands[0].within(UNARY), UNARY)
    if name in _BINARY and len(operands) == 2:
        return _binary(*_BINARY[name], *operands)
    return Expression(call(f"math.{name}", [("", each.piece) for each in operands]))


def _binary(sign: str, precedence: int, left: Expression, right: Expression) -> Expression:
    if precedence == COMPARISON:
        return Expression(f"{left.within(6)} {sign} {right.within(6)}", precedence)
    if precedence == POWER:
        first, second = left.within(ATOM), right.within(UNARY)
        space = "" if _is_simple(first) and _is_simple(second) else " "
        return Expression(f"{first}{space}**{space}{second}", precedence)
    return Expression(f"{left.within(precedence)} {sign} {right.within(precedence + 1)}", precedence)


def _is_simple(text: str) -> bool:
    """Whether black puts no spaces around ``**`` beside it: a name, a dotted name, a number."""
    return re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*|-?[\d.]+(e[+-]?\d+)?", text) is not None


def _constant(value: Any, dtype: dtypes.DALIDataType | None, exact: bool) -> Expression | None:
    if dtype is None:
        negative = isinstance(value, (int, float)) and str(value).startswith("-") and "inf" not in str(value)
        return Expression(number(value), UNARY if negative else ATOM)
    if constant_dtype(value) == dtype:
        return None if exact else _constant(value, None, exact)
    try:
        plain = scalars.ScalarConstant(value, dtype)
    except TypeError:
        return None
    if exact and type(plain.value) is not type(value):
        return None
    return Expression(f"types.Constant({number(value)}, types.{dtype.name})")


def _subscript(node: Node, operand: Callable[[Edge], Expression]) -> Expression | None:
    count = node.arguments.get("num_subscripts")
    if not isinstance(count, int) or not 0 < count <= 32 or len(node.inputs) != 1:
        return None
    bounds: dict[str, str] = {}
    for key, value in node.arguments.items():
        if key != "num_subscripts":
            if not isinstance(value, int):
                return None
            bounds[key] = str(value)
    for key, edge in node.connections.items():
        bounds[key] = flat(operand(edge).piece)
    items = [_index(bounds, position) for position in range(count)]
    if bounds or None in items:
        return None
    return Expression(
        Bracket(
            f"{operand(node.inputs[0]).within(ATOM)}[", tuple(("", item) for item in items if item is not None), "]"
        )
    )


def _index(bounds: dict[str, str], position: int) -> str | None:
    """Take what belongs to one position out of `bounds`."""
    at = bounds.pop(f"at_{position}", None)
    low, high, step = (bounds.pop(f"{key}_{position}", None) for key in ("lo", "hi", "step"))
    if at is not None:
        return at if low is None and high is None and step is None else None
    space = " " if any(bound is not None and not _is_simple(bound) for bound in (low, high, step)) else ""
    text = f"{low}{space}:" if low is not None else ":"
    text += f"{space}{high}" if high is not None else ""
    if step is not None:
        text += f"{space if high is not None else ''}:{space}{step}"
    return text
