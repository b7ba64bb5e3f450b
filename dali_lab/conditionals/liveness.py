"""Variables of a function that are read after a statement, and variables that a statement writes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

Names = frozenset[str]
NONE: Names = frozenset()
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(node: ast.AST) -> Iterable[ast.AST]:
    """A node and all below it, without those inside nested functions and classes."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        if found is node or not isinstance(found, _SCOPES):
            stack.extend(ast.iter_child_nodes(found))


def reads(*nodes: ast.AST | None) -> Names:
    """Names that are read anywhere below, nested functions included."""
    return frozenset(
        found.id
        for node in nodes
        if node is not None
        for found in ast.walk(node)
        if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Load)
    )


def composite(node: ast.AST) -> str | None:
    """``self.x`` or ``out['x']`` as text, for targets whose base is a plain name and whose key is a constant."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return ast.unparse(node)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        return ast.unparse(node)
    return None


def _in_comprehension(statement: ast.AST) -> set[int]:
    """Targets that belong to comprehensions, whose variables are their own."""
    found: set[int] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.comprehension):
            found.update(id(part) for part in ast.walk(node.target))
    return found


def writes(statements: Sequence[ast.stmt]) -> dict[str, ast.AST]:
    """Variables that are assigned in some statements, in their order; attributes and elements as :func:`composite`."""
    result: dict[str, ast.AST] = {}
    for statement in statements:
        inner = _in_comprehension(statement)
        found = [*own_nodes(statement)]
        for node in found:
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)) and id(node) not in inner:
                result.setdefault(node.id, node)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                result.setdefault(node.name, node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    result.setdefault((alias.asname or alias.name).split(".")[0], node)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                result.setdefault(node.name, node)
            elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
                name = composite(node)
                if name is not None:
                    result.setdefault(name, node)
    bases = {name for name in result if name.isidentifier()}
    return {name: node for name, node in result.items() if name.isidentifier() or _base(node) not in bases}


def _base(node: ast.AST) -> str:
    assert isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name)
    return node.value.id


class Liveness:
    """For each ``if`` of a function, the variables that are read after it.

    Attributes
    ----------
    after
        By the identity of the ``if`` node.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[int, Names] = {}
        self._loops: list[tuple[Names, Names]] = []
        self._captured = frozenset(
            name
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            for name in reads(node)
        )
        self._block(body, NONE)
        self.after = {key: live | self._captured for key, live in self.after.items()}

    def _block(self, statements: Sequence[ast.stmt], live: Names) -> Names:
        for statement in reversed(statements):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, live: Names) -> Names:
        if isinstance(node, ast.If):
            self.after[id(node)] = self.after.get(id(node), NONE) | live
            return reads(node.test) | self._block(node.body, live) | self._block(node.orelse, live)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, live)
        if isinstance(node, ast.Break):
            return self._loops[-1][0] if self._loops else live
        if isinstance(node, ast.Continue):
            return self._loops[-1][1] if self._loops else live
        if isinstance(node, ast.Return):
            return reads(node.value)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._block(node.body, live) | reads(*node.items)
        if isinstance(node, ast.Match):
            cases = frozenset().union(*(self._block(case.body, live) for case in node.cases))
            return (
                live
                | cases
                | reads(node.subject, *(part for case in node.cases for part in (case.pattern, case.guard)))
            )
        if isinstance(node, (ast.Try, ast.TryStar)):
            end = self._block(node.finalbody, live)
            handled = frozenset().union(*(self._block(handler.body, end) for handler in node.handlers), end)
            return self._block(node.body, self._block(node.orelse, end) | handled) | handled | reads(*node.handlers)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            killed = {target.id for target in targets if isinstance(target, ast.Name)}
            for target in targets:
                if isinstance(target, (ast.Tuple, ast.List)):
                    killed |= {item.id for item in target.elts if isinstance(item, ast.Name)}
            return (live - killed) | reads(node.value, *targets)
        if isinstance(node, ast.AugAssign):
            own = frozenset([node.target.id]) if isinstance(node.target, ast.Name) else NONE
            return live | reads(node.value, node.target) | own
        if isinstance(node, ast.FunctionDef):
            return (live - {node.name}) | reads(node)
        return live | reads(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, live: Names) -> Names:
        after = self._block(node.orelse, live)
        head = after | live
        header: tuple[ast.AST, ...] = (node.test,) if isinstance(node, ast.While) else (node.iter,)
        targets = frozenset() if isinstance(node, ast.While) else frozenset(writes([node])) & _stored(node.target)
        for _ in range(3):
            self._loops.append((live, head))
            entered = self._block(node.body, head)
            self._loops.pop()
            head = head | (entered - targets) | (reads(*header) if isinstance(node, ast.While) else NONE)
        return head | reads(*header)


def _stored(target: ast.AST) -> Names:
    return frozenset(node.id for node in ast.walk(target) if isinstance(node, ast.Name))
