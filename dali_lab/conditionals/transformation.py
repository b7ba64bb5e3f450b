"""The rewriting itself: syntax trees of conditions into calls of the runtime."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from dali_lab.conditionals.liveness import Liveness, own_nodes, writes
from dali_lab.conditionals.returns import move_returns_last

N = TypeVar("N", bound=ast.AST)

RUNTIME = "__dali_lab_conditionals__"
_LEAVES = (ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def _runtime(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_attribute(name), list(arguments), [])


def _attribute(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())


def _lambda(body: ast.expr) -> ast.Lambda:
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(arguments, body)


def _can_wait(node: ast.expr) -> bool:
    """Whether an expression can be moved into a lambda."""
    return not any(isinstance(found, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for found in ast.walk(node))


def _function(name: str, parameter: str | None, body: list[ast.stmt], like: ast.AST) -> ast.FunctionDef:
    parameters = [ast.arg(parameter)] if parameter else []
    arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    made = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
    made.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return _located(made, like)


def _located(node: N, like: ast.AST) -> N:
    for found in ast.walk(node):
        if "lineno" in getattr(found, "_attributes", ()) and not hasattr(found, "lineno"):
            ast.copy_location(found, like)
    return node


def _parameters(arguments: ast.arguments) -> set[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {argument.arg for argument in every if argument is not None}


def rewrite_function(function: ast.FunctionDef) -> None:
    """Rewrite one function in place; its returns have been moved last."""
    _FunctionRewriter(function).rewrite()


class _FunctionRewriter(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef) -> None:
        self._function = function
        self._live = Liveness(function.body)
        self._count = 0
        self._parameters = _parameters(function.args)
        self._outer: set[str] = set()
        self._global: set[str] = set()
        for statement in function.body:
            for node in own_nodes(statement):
                if isinstance(node, ast.Nonlocal):
                    self._outer.update(node.names)
                elif isinstance(node, ast.Global):
                    self._global.update(node.names)
        self._unsure: dict[str, None] = {}

    def rewrite(self) -> None:
        own = self._parameters | {name for name in writes(self._function.body) if self._is_own(name)}
        self._function.body = self._block(self._function.body)
        loader = _Reads(own | set(self._unsure))
        self._function.body = [loader.visit(statement) for statement in self._function.body]
        if self._unsure:
            start = [
                _located(
                    ast.Assign([ast.Name(name, ast.Store())], _runtime("undefined", ast.Constant(name))), self._function
                )
                for name in self._unsure
            ]
            body = self._function.body
            skip = 1 if ast.get_docstring(self._function, clean=False) is not None else 0
            while skip < len(body) and isinstance(body[skip], (ast.Nonlocal, ast.Global)):
                skip += 1
            self._function.body = [*body[:skip], *start, *body[skip:]]

    # -- statements ---------------------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(statement)
            result.extend(made if isinstance(made, list) else [made])
        return result

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        node.args.defaults = [self.visit(item) for item in node.args.defaults]
        if not any(isinstance(found, (ast.Yield, ast.YieldFrom)) for found in own_nodes(node)):
            node.body = move_returns_last(node.body)
            rewrite_function(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        # A branch becomes a function, which may not annotate variables of the function around it.
        if node.value is None:
            return _located(ast.Pass(), node) if isinstance(node.target, ast.Name) else node
        value = self.visit(node.value)
        return _located(ast.Assign([self.visit(node.target)], value), node)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and self._is_own(target.id):
                # The functions of branches share the variable, so it stays, without a value.
                self._unsure.setdefault(target.id)
                value = _runtime("undefined", ast.Constant(target.id))
                made.append(ast.Assign([ast.Name(target.id, ast.Store())], value))
            else:
                made.append(ast.Delete([target]))
        return [_located(statement, node) for statement in made]

    def _is_own(self, name: str) -> bool:
        """Whether a name is a variable of the function and none of its parameters."""
        return name not in self._parameters and name not in self._outer and name not in self._global

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        last = getattr(node, "last", False)
        if not last and self._leaves(node):
            node.test = _located(_runtime("plain", self.visit(node.test)), node)
            node.body = self._block(node.body)
            node.orelse = self._block(node.orelse)
            return node
        written = {**writes(node.body), **writes(node.orelse)}
        live = self._live.after.get(id(node), frozenset(written))
        outputs = [name for name in written if name in live or not name.isidentifier()]
        names = [*outputs, *(name for name in written if name not in outputs)]
        plain_names = [name for name in names if name.isidentifier()]
        for name in plain_names:
            if self._is_own(name):
                self._unsure.setdefault(name)
        test = self.visit(node.test)
        number = self._count
        self._count += 1
        body = self._branch(f"__if_{number}__", node.body, plain_names, last, node)
        orelse = self._branch(f"__else_{number}__", node.orelse or [ast.Pass()], plain_names, last, node)
        state = ast.Tuple([self._get(name, written[name]) for name in names], ast.Load())
        get = _function(f"__get_{number}__", None, [ast.Return(state)], node)
        setter = self._setter(f"__set_{number}__", names, plain_names, written, node)
        call = _runtime(
            "if_statement",
            test,
            *(ast.Name(f"__{part}_{number}__", ast.Load()) for part in ("if", "else", "get", "set")),
            ast.Tuple([ast.Constant(name) for name in names], ast.Load()),
            ast.Constant(len(outputs)),
        )
        end: ast.stmt = ast.Return(call if self._inside else _runtime("final", call)) if last else ast.Expr(call)
        return [body, orelse, get, setter, _located(end, node)]

    _inside = 0

    def _branch(
        self, name: str, statements: Sequence[ast.stmt], shared: list[str], last: bool, like: ast.If
    ) -> ast.FunctionDef:
        self._inside += 1
        body = self._block(statements)
        self._inside -= 1
        if last and not isinstance(body[-1], ast.Return):
            body.append(ast.Return(_attribute("nothing")))
        return _function(name, None, [*self._declared(shared), *body], like)

    def _declared(self, names: Sequence[str]) -> list[ast.stmt]:
        local = [name for name in names if name not in self._global]
        shared = [name for name in names if name in self._global]
        return [*([ast.Nonlocal(local)] if local else []), *([ast.Global(shared)] if shared else [])]

    def _get(self, name: str, target: ast.AST) -> ast.expr:
        if name.isidentifier():
            if name in self._global:
                return _runtime("peek", _lambda(ast.Name(name, ast.Load())), ast.Constant(name))
            return _Unchecked(name, ast.Load())
        return _runtime("peek", _lambda(ast.parse(name, mode="eval").body), ast.Constant(name))

    def _setter(
        self, name: str, names: list[str], plain: list[str], written: dict[str, ast.AST], like: ast.If
    ) -> ast.FunctionDef:
        body: list[ast.stmt] = self._declared(plain)
        for index, variable in enumerate(names):
            value = ast.Subscript(ast.Name("__state__", ast.Load()), ast.Constant(index), ast.Load())
            if variable.isidentifier():
                body.append(ast.Assign([ast.Name(variable, ast.Store())], value))
            else:
                body.extend(_put_back(variable, value))
        return _function(name, "__state__", body or [ast.Pass()], like)

    def _leaves(self, node: ast.If) -> bool:
        """Whether a branch leaves something that is around the ``if``."""
        loops = [found for found in own_nodes(node) if isinstance(found, (ast.For, ast.While, ast.AsyncFor))]
        inside = {id(part) for loop in loops for part in ast.walk(loop)}
        for found in own_nodes(node):
            if isinstance(found, ast.Return):
                return True
            if isinstance(found, _LEAVES) and not (
                isinstance(found, (ast.Break, ast.Continue)) and id(found) in inside
            ):
                return True
        return False

    # -- expressions --------------------------------------------------------------------------------------------

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        values = [self.visit(value) for value in node.values]
        if not all(_can_wait(value) for value in values[1:]):
            node.values = values
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result: ast.expr = values[0]
        for value in values[1:]:
            result = _runtime(name, result, _lambda(value))
        return _located(result, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        operators = [_COMPARISONS.get(type(operator)) for operator in node.ops]
        if len(operators) == 1 or None in operators or not all(map(_can_wait, node.comparators)):
            return node
        pairs = zip(operators, node.comparators, strict=True)
        links = [ast.Tuple([ast.Constant(name), _lambda(right)], ast.Load()) for name, right in pairs]
        return _located(_runtime("chain", node.left, *links), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _located(_runtime("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if not (_can_wait(node.body) and _can_wait(node.orelse)):
            return node
        return _located(_runtime("if_expression", node.test, _lambda(node.body), _lambda(node.orelse)), node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "vars", "dir", "eval", "exec")):
            node.func = _located(_runtime("call", node.func), node.func)
        return node


class _Unchecked(ast.Name):
    """A name that is read whether it has a value or not."""


_Unchecked._fields = ast.Name._fields


def _put_back(name: str, value: ast.expr) -> list[ast.stmt]:
    """``name = value``, or take it away again where the value is undefined."""
    target: Any = ast.parse(name, mode="eval").body
    target.ctx = ast.Store()
    gone: Any = ast.parse(name, mode="eval").body
    gone.ctx = ast.Del()
    errors = ast.Tuple(
        [ast.Name(error, ast.Load()) for error in ("KeyError", "IndexError", "AttributeError")], ast.Load()
    )
    remove = ast.Try([ast.Delete([gone])], [ast.ExceptHandler(errors, None, [ast.Pass()])], [], [])
    return [ast.If(_runtime("defined", value), [ast.Assign([target], value)], [remove])]


class _Reads(ast.NodeTransformer):
    """Shows variables to the runtime where they are read: a branch gets its samples, or an error if there is none."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node, _Unchecked) or node.id not in self._names or not isinstance(node.ctx, ast.Load):
            return node
        return _located(_runtime("ld", node), node)

    def visit_Lambda(self, node: ast.Lambda | ast.FunctionDef) -> ast.AST:
        before, self._names = self._names, self._names - _parameters(node.args)
        self.generic_visit(node)
        self._names = before
        return node

    visit_FunctionDef = visit_Lambda  # noqa: N815  (the name that ast looks for)
