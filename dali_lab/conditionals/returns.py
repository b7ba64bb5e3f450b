"""Moves statements after an ``if`` that returns into its branches, so that such an ``if`` is always the last one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from dali_lab.conditionals.liveness import own_nodes

_MOST_COPIES = 64


def has_return(node: ast.stmt) -> bool:
    """Whether a statement holds a ``return`` of its own function."""
    return any(isinstance(found, ast.Return) for found in own_nodes(node))


def always_returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether no path through some statements comes to their end."""
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return True
        if isinstance(statement, ast.If) and statement.orelse:
            if always_returns(statement.body) and always_returns(statement.orelse):
                return True
        if isinstance(statement, (ast.With, ast.AsyncWith)) and always_returns(statement.body):
            return True
    return False


def move_returns_last(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The same statements, with every ``if`` that returns in last place, marked by the attribute ``last``.

    Statements after it go into the branches that do not return: into both, where neither always does.
    """
    return _Mover().block(statements)


class _Mover:
    def __init__(self) -> None:
        self._copies = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        for index, statement in enumerate(statements):
            if not isinstance(statement, ast.If) or not has_return(statement):
                continue
            rest = statements[index + 1 :]
            body, orelse = statement.body, statement.orelse
            body_ends, else_ends = always_returns(body), always_returns(orelse)
            if not body_ends and not else_ends and rest:
                self._copies += 1
                if self._copies > _MOST_COPIES:
                    return statements
            new_body = body if body_ends else body + (rest if else_ends else copy.deepcopy(rest))
            new_else = orelse if else_ends else orelse + rest
            moved = ast.If(test=statement.test, body=self.block(new_body), orelse=self.block(new_else))
            moved.last = True  # type: ignore[attr-defined]
            return [*statements[:index], ast.copy_location(moved, statement)]
        return statements
