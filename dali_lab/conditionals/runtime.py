"""Functions that rewritten code calls in place of ``if``, ``and``, ``or``, ``not`` and calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from dali_lab.conditionals.stack import ConditionStack
from dali_lab.graph.naming import suggesting
from dali_lab.graph.recorder import DataNode, Recorder
from dali_lab.graph.tracing import call_operator
from dali_lab.model.errors import ArgumentTypeError, GraphError
from dali_lab.model.user_code import user_line

Branch = Callable[[], Any]


class Undefined:
    """Stands in a variable that has no value yet."""

    def __init__(self, name: str) -> None:
        self.name = name


class _NoReturn:
    """The result of a branch without ``return``."""

    def __repr__(self) -> str:
        return "nothing"


nothing = _NoReturn()


def undefined(name: str) -> Undefined:
    """The value of a variable before its first assignment."""
    return Undefined(name)


def defined(value: object) -> bool:
    """Whether a variable has a value."""
    return not isinstance(value, Undefined)


def peek(read: Branch, name: str) -> Any:
    """An attribute or an element, or :class:`Undefined` where there is none."""
    try:
        return read()
    except (KeyError, IndexError, AttributeError, NameError):
        return Undefined(name)


def ld(value: object) -> Any:
    """The value of a variable that is read: of a node, the samples that belong to the branch that is being traced.

    NVIDIA DALI cuts batches where variables are read, too, so that operators are called in the same order.

    Raises
    ------
    UnboundLocalError
        If a branch left the variable without a value.
    """
    if isinstance(value, DataNode):
        recorder = Recorder.current()
        conditions = recorder.conditions if recorder is not None else None
        return conditions.bring(value) if conditions is not None else value
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"the variable '{value.name}' is used before it has a value")
    return value


def plain(test: object) -> Any:
    """A condition that cannot be traced, because its branch leaves a loop or a ``with``."""
    if isinstance(test, DataNode):
        raise GraphError(
            f"an 'if' on {test!r} holds a return, break, continue or yield inside a loop, 'try' or 'with':"
            " which samples would leave is not known while the pipeline is defined. Assign to a variable instead.",
            origin=user_line(),
        )
    return test


def call(function: object) -> Any:
    """A function about to be called, rewritten too if it is the user's own."""
    from dali_lab.conditionals.rewriting import converted_callable

    return converted_callable(function)


def final(value: object) -> Any:
    """The result of a function: ``None`` where it came to its end without ``return``."""
    return None if value is nothing else value


def _stack() -> ConditionStack:
    recorder = Recorder.current()
    stack = recorder.conditions if recorder is not None else None
    if not isinstance(stack, ConditionStack):
        raise GraphError(
            "a condition on a node was met outside of a pipeline with enable_conditionals=True", origin=user_line()
        )
    return stack


def if_statement(
    test: object,
    body: Branch,
    orelse: Branch,
    get_state: Branch,
    set_state: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
    outputs: int,
    *,
    expression: bool = False,
) -> Any:
    """An ``if``: on a node both branches are traced and joined, else Python decides.

    The first `outputs` of the variables `names` are used later on; the others are only put back between the branches.
    The results of branches are returned by the function, or are the value of an `expression`.
    """
    if not isinstance(test, DataNode):
        return body() if test else orelse()
    stack = _stack()
    level = stack.condition(test)
    before = get_state()
    results = []
    for branch, run in enumerate((body, orelse)):
        set_state(before)
        with stack.branch(level, branch):
            returned = run()
            if not expression:
                _count_return(stack, returned)
            values = list(get_state()[:outputs])
            _check_defined(values, names, branch)
            results.append([_brought(stack, value) for value in (*values, *(() if returned is None else (returned,)))])
    true, false = results
    returns = len(true) > outputs or len(false) > outputs
    if returns:
        _check_returns(true, false, outputs)
    if returns and not expression:
        _count_unnamed(1)
    merged = [
        _merge(stack, level.predicate, left, right, names[index] if index < outputs else "return")
        for index, (left, right) in enumerate(zip(true, false, strict=True))
    ]
    set_state((*merged[:outputs], *before[outputs:]))
    if not returns:
        return None
    stack.joined = merged[outputs]
    return merged[outputs]


def _count_return(stack: ConditionStack, returned: object) -> None:
    """Count what NVIDIA DALI makes of a ``return`` in a branch: a flag that is cut for each condition around it."""
    if returned is not None and returned is not nothing and returned is not stack.joined:
        _count_unnamed(1 + stack.depth)


def _count_unnamed(count: int) -> None:
    """Leave numbers out, so that names are made up as in NVIDIA DALI, where operators have them that are not here."""
    recorder = Recorder.current()
    if recorder is not None:
        recorder.unnamed += count


def _check_defined(values: list[Any], names: tuple[str, ...], branch: int) -> None:
    for name, value in zip(names, values, strict=False):
        if isinstance(value, Undefined):
            raise GraphError(
                "Encountered inconsistent outputs out of the `if/else` control flow statement. Variables need to be"
                f" initialized in every code path (both `if` branches). Variable '{name}' must also be initialized in"
                f" the `{('if', 'else')[branch]}` branch.",
                origin=user_line(),
            )


def _check_returns(true: list[Any], false: list[Any], outputs: int) -> None:
    left, right = (values[outputs] if len(values) > outputs else nothing for values in (true, false))
    if (left is nothing) != (right is nothing):
        missing = "if" if left is nothing else "else"
        raise GraphError(
            "Encountered inconsistent outputs out of the `if/else` control flow statement. Variables need to be"
            " initialized in every code path (both `if` branches). The"
            f" `{missing}` branch must also have a return statement.",
            origin=user_line(),
        )
    for values in (true, false):
        if len(values) == outputs:
            values.append(nothing)


def _brought(stack: ConditionStack, value: object) -> Any:
    """All nodes in a value as the branch that is being traced sees them; numbers become nodes."""
    return _map(lambda leaf: _brought_leaf(stack, leaf), value)


def _brought_leaf(stack: ConditionStack, leaf: object) -> Any:
    from dali_lab.graph.constants import constant_node

    if isinstance(leaf, DataNode):
        return stack.bring(leaf)
    if leaf is nothing or isinstance(leaf, str):
        return leaf
    try:
        node = constant_node(leaf)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"a branch of a condition on a node gives {leaf!r} ({type(leaf).__name__}), which cannot become a batch",
            origin=user_line(),
        ) from error
    return stack.bring(node)


def _merge(stack: ConditionStack, predicate: DataNode, true: Any, false: Any, name: str) -> Any:
    """Join the values that both branches gave to a variable."""
    if _shape(true) != _shape(false):
        raise GraphError(
            "Divergent data found in different branches of `if/else` control flow statement. Variables in all code"
            " paths are merged into common output batches. The values assigned to a given variable need to have the"
            f" same nesting structure in every code path (both `if` branches). For the variable '{name}',"
            f" 'If' output structure: {_shape(true)}, 'Else' output structure: {_shape(false)}",
            origin=user_line(),
        )
    if isinstance(true, DataNode):
        with stack.paused():
            node = call_operator("_conditional.merge", (true, false), {"predicate": predicate})
        stack.adopt(node)
        return node
    if isinstance(true, dict):
        return type(true)((key, _merge(stack, predicate, true[key], false[key], f"{name}[{key!r}]")) for key in true)
    if isinstance(true, (list, tuple)):
        items = [
            _merge(stack, predicate, a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(true, false, strict=True))
        ]
        return type(true)(*items) if hasattr(true, "_fields") else type(true)(items)
    if true is not nothing and true != false:
        raise GraphError(
            f"the two branches give '{name}' the values {true!r} and {false!r}, which cannot be joined",
            origin=user_line(),
        )
    return true


def _map(function: Callable[[Any], Any], value: object) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return type(value)((key, _map(function, item)) for key, item in value.items())  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(function, item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, item) for item in value)
    return function(value)


def _shape(value: object) -> str:
    """The nesting of a value, with a star for each batch."""
    if isinstance(value, DataNode):
        return "*"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_shape(item)}" for key, item in sorted(value.items(), key=repr)) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_shape, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return "None" if value is None else "text"


def if_expression(test: object, true: Branch, false: Branch) -> Any:
    """``a if test else b``."""
    if not isinstance(test, DataNode):
        return true() if test else false()
    return if_statement(test, true, false, tuple, lambda state: None, (), 0, expression=True)


def not_(value: object) -> Any:
    """``not value``."""
    return call_operator("_conditional.not_", (value,), {}) if isinstance(value, DataNode) else not value


def _logical(value: object, name: str, side: str) -> DataNode:
    from dali_lab.graph.constants import constant_node

    node = value if isinstance(value, DataNode) else constant_node(value)
    if node.device == "gpu":
        raise GraphError(
            f"Logical expression `{name}` is restricted to scalar (0-d tensors) inputs of `bool` type, that are placed"
            f" on CPU. Got a GPU input as the {side} argument in logical expression.",
            origin=user_line(),
        )
    with suggesting(""):
        arguments = {"expression_name": name, "expression_side": side}
        result = call_operator("_conditional.validate_logical", (node,), arguments)
    assert isinstance(result, DataNode)
    return result


def and_(left: object, right: Branch) -> Any:
    """``left and right()``, where the right side is worked out for those samples alone that need it."""
    if not isinstance(left, DataNode):
        return left and right()
    checked = _logical(left, "and", "left")
    return if_expression(checked, lambda: _logical(right(), "and", "right"), lambda: checked)


def or_(left: object, right: Branch) -> Any:
    """``left or right()``, where the right side is worked out for those samples alone that need it."""
    if not isinstance(left, DataNode):
        return left or right()
    checked = _logical(left, "or", "left")
    return if_expression(checked, lambda: checked, lambda: _logical(right(), "or", "right"))


def chain(left: object, *links: tuple[str, Branch]) -> Any:
    """``left < a < b``: comparisons joined by ``and``, each operand worked out once."""
    name, operand = links[0]
    right = operand()
    result = getattr(operator, name)(left, right)
    if len(links) == 1:
        return result
    return and_(result, lambda: chain(right, *links[1:]))
