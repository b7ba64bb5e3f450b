"""Mutants: small changes to functions, each of which some test should notice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutant:
    """A file's text with one change inside a function."""

    file: Path
    text: str = field(repr=False)
    """As it was when the tests were imported."""
    line: int
    function: str
    """Qualified name of the outermost function that is changed."""
    change: str
    place: tuple[tuple[int, ...], int, int]
    """Of the function in the bodies of the tree, of the node in the function, and of the change at the node."""

    def code(self) -> CodeType | None:
        """The function's code with the change; `None` if another of its name comes later."""
        tree = ast.parse(self.text)
        path, index, number = self.place
        node = list(_walk(_at(tree, path)))[index]
        list(_changes(node))[number][1]()
        ast.fix_missing_locations(tree)
        return _code(compile(tree, str(self.file), "exec"), self.function)


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of the functions of a file."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for name, path in _functions(tree, (), ""):
        function = _at(tree, path)
        for index, node in enumerate(_walk(function)):
            for number, (change, _) in enumerate(_changes(node)):
                line = getattr(node, "lineno", function.lineno)
                yield Mutant(file, text, line, name, change, (path, index, number))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that run: neither annotations, which are not evaluated, nor decorators."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child)


def _functions(node: ast.AST, path: tuple[int, ...], prefix: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The functions of a module and its classes, each with its way down through the bodies."""
    for index, child in enumerate(getattr(node, "body", [])):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, (*path, index), f"{prefix}{child.name}.")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, (*path, index)


def _at(tree: ast.AST, path: tuple[int, ...]) -> ast.FunctionDef:
    for index in path:
        tree = tree.body[index]  # type: ignore[attr-defined]
    assert isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef))
    return tree  # type: ignore[return-value]


def _code(code: CodeType, name: str) -> CodeType | None:
    """The code object of a qualified name, the last one where a name is defined several times."""
    for part in name.split("."):
        found = [const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == part]
        if not found:
            return None
        code = found[-1]
    return code


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], object]]]:
    """Descriptions of what can be changed at a node, with functions that do it."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            other = _COMPARISONS[type(operator)]
            yield f"{type(operator).__name__} -> {other.__name__}", lambda: node.ops.__setitem__(0, other())
        case ast.BoolOp():
            swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield f"-> {swapped.__name__}", lambda: setattr(node, "op", swapped())
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            operation = _ARITHMETIC[type(node.op)]
            yield f"{type(node.op).__name__} -> {operation.__name__}", lambda: setattr(node, "op", operation())
        case ast.UnaryOp(op=ast.Not()):
            yield "not removed", lambda: setattr(node, "op", ast.UAdd()) or _become_bool(node)
        case ast.If() | ast.IfExp() | ast.While():
            yield "condition False", lambda: setattr(node, "test", ast.Constant(False))
        case ast.comprehension(ifs=[_, *_]):
            yield "filter removed", lambda: node.ifs.clear()
        case ast.Constant(value=bool(value)):
            yield f"{value} -> {not value}", lambda: setattr(node, "value", not value)
        case ast.Constant(value=int(value)):
            yield f"{value} -> {value + 1}", lambda: setattr(node, "value", value + 1)
        case ast.Return(value=ast.expr()) if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "return None", lambda: setattr(node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield "call removed", lambda: setattr(node, "value", ast.Constant(None))
        case ast.Raise():
            yield "raise another", lambda: setattr(node, "exc", ast.parse("ArithmeticError()", mode="eval").body)


def _become_bool(node: ast.UnaryOp) -> None:
    """``not x`` becomes ``not not x``, which is the truth of x."""
    node.op = ast.Not()
    node.operand = ast.UnaryOp(ast.Not(), node.operand)
