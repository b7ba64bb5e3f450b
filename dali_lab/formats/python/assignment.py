"""Assignments in pipeline definitions that are read without being run: variables, attributes, elements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from dali_lab.formats.python.evaluation import Evaluator
from dali_lab.formats.python.names import Instance
from dali_lab.formats.python.plain_values import MOST_ITEMS, NeedsRunning
from dali_lab.graph.naming import node_name
from dali_lab.graph.recorder import DataNode, next_call_number


class Assigner(Evaluator):
    """Gives names to values, and to nodes the names of variables."""

    def assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """``target = value``."""
        if statement.value is None:
            return
        self._before = next_call_number()
        value = self.value(statement.value)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets[::-1]:
            self.store(target, value)

    def store(self, target: ast.expr, value: Any) -> None:
        """Assign a value, and name nodes after the variable."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            if isinstance(value, list) and len({id(getattr(item, "source", item)) for item in value}) == 1:
                value = value[0]  # the outputs of one call
            elif isinstance(value, dict) and value and all(isinstance(item, DataNode) for item in value.values()):
                first, *others = value.values()
                value = first if all(item.source is first.source for item in others) else value
            if isinstance(value, DataNode):
                self._suggest(value, (target.id,))
        elif isinstance(target, (ast.Tuple, ast.List)) and any(isinstance(item, ast.Starred) for item in target.elts):
            self._store_starred(target.elts, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
                raise ValueError(f"takes {len(target.elts)} values apart")
            for item, each in zip(target.elts, value, strict=True):
                self.store(item, each)
            names = tuple(item.id if isinstance(item, ast.Name) else "_" for item in target.elts)
            if len({id(item.source) for item in value if isinstance(item, DataNode)}) == 1 and isinstance(
                value[0], DataNode
            ):
                if value[0].source.number > self._before:
                    value[0].source.suggested = ""
                self._suggest(value[0], names)
        elif isinstance(target, ast.Attribute) and isinstance(owner := self.value(target.value), Instance):
            owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript) and isinstance(held := self.value(target.value), (list, dict)):
            key = self.value(target.slice)
            if isinstance(held, dict) and key not in held and len(held) >= MOST_ITEMS:
                raise NeedsRunning(target, "a dictionary grows without end")
            held[key] = value
        else:
            raise NeedsRunning(target, "a value goes to something other than a variable")

    def _store_starred(self, targets: Sequence[ast.expr], value: Any) -> None:
        """``first, *rest = value``."""
        place = next(index for index, item in enumerate(targets) if isinstance(item, ast.Starred))
        behind = len(targets) - place - 1
        if not isinstance(value, (tuple, list)) or len(value) < len(targets) - 1:
            raise ValueError(f"takes at least {len(targets) - 1} values apart")
        middle = len(value) - behind
        starred = targets[place]
        assert isinstance(starred, ast.Starred)
        others = [*targets[:place], *targets[place + 1 :]]
        for item, each in zip(others, [*value[:place], *value[middle:]], strict=True):
            self.store(item, each)
        self.store(starred.value, list(value[place:middle]))

    def _suggest(self, node: DataNode, names: tuple[str, ...]) -> None:
        """Name a node after the variable that takes it from the call that makes it."""
        if not node.source.suggested and node.source.number > self._before:
            node.source.suggested = node_name(names)

    def augment(self, statement: ast.AugAssign) -> None:
        """``target += value``."""
        self._before = next_call_number()
        held = self.value(_as_read(statement.target))
        value = self.operation(statement.op, held, self.value(statement.value), statement)
        self.store(statement.target, value)


def _as_read(target: ast.expr) -> ast.expr:
    """The expression that reads what a target of an assignment holds."""
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    raise NeedsRunning(target, "a value goes to something other than a variable")
