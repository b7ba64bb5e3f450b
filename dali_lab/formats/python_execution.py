"""Goes through the statements of pipeline definitions, without running anything else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from dali_lab.conditionals import runtime as conditions
from dali_lab.conditionals.liveness import reads, writes
from dali_lab.conditionals.returns import move_returns_last
from dali_lab.data_node import DataNode, next_call_number
from dali_lab.formats.python_evaluation import Evaluator
from dali_lab.formats.python_names import Definition, Instance, NeedsRunning, imported_module, imported_name
from dali_lab.formats.values import PythonReference
from dali_lab.graph.naming import node_name

_MOST_DEPTH = 50


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Left(Exception):
    """``break`` or ``continue``."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends


class Interpreter(Evaluator):
    """Evaluates the statements of a module and of functions in it."""

    def __init__(self) -> None:
        super().__init__()
        self._read_later: frozenset[str] = frozenset()
        self._depth = 0
        self._module: dict[str, Any] = {}
        self._constructed: Callable[..., Any] | None = None

    # -- the module -----------------------------------------------------------------------------------------------

    def look_around(self, statements: Sequence[ast.stmt]) -> None:
        """Take in the imports, constants and functions of a module."""
        for statement in statements:
            self._define(statement)
        self._module = dict(self.names)

    def _define(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                name, value = imported_module(alias.name, alias.asname)
                self.names[name] = value
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                value = imported_name(statement.module or "", alias.name, statement.level)
                self.names[alias.asname or alias.name] = value
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            self.names[statement.name] = PythonReference(None, f"{statement.name}, line {statement.lineno}")
            if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
                self.functions[statement.name] = statement
            else:
                self.functions.pop(statement.name, None)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            try:
                self._assign(statement)
            except (NeedsRunning, TypeError, ValueError, ArithmeticError, LookupError, RuntimeError):
                for target in statement.targets if isinstance(statement, ast.Assign) else (statement.target,):
                    for node in ast.walk(target):
                        if isinstance(node, ast.Name):
                            self.names.pop(node.id, None)

    # -- functions and objects --------------------------------------------------------------------------------------

    def call_function(self, function: ast.FunctionDef, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call; variables of the function are its own."""
        if self._depth >= _MOST_DEPTH:
            raise NeedsRunning(function, "functions call each other too deeply")
        outside = self.names, self._read_later
        self.names, self._read_later = dict(self._module), frozenset()
        self._depth += 1
        try:
            self._bind(function, arguments, keywords)
            return self._result(function)
        finally:
            self._depth -= 1
            self.names, self._read_later = outside
            self._before = next_call_number()

    def construct(self, function: ast.FunctionDef, given: dict[str, Any]) -> tuple[Instance, Definition]:
        """What the constructor of a pipeline class makes of its object, and what it hands to ``Pipeline``."""
        made: list[Definition] = []
        self._constructed = lambda *values, **settings: made.append(Definition(*values, **settings))
        instance = Instance()
        wanted = {name: value for name, value in given.items() if name in _parameters(function)}
        self.call_function(function, [instance], wanted)
        self._constructed = None
        if len(made) != 1:
            raise NeedsRunning(function, "the constructor of Pipeline is not called")
        return instance, made[0]

    def _bind(self, function: ast.FunctionDef, values: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Give the parameters of a function their values."""
        arguments = function.args
        if arguments.vararg or arguments.kwarg:
            raise NeedsRunning(function, "it takes any arguments")
        plain = [*arguments.posonlyargs, *arguments.args]
        if len(values) > len(plain):
            raise TypeError(f"{function.name}() takes {len(plain)} positional arguments, got {len(values)}")
        found = {each.arg: value for each, value in zip(plain, values, strict=False)}
        for name, value in keywords.items():
            if name in found or name not in _parameters(function):
                raise TypeError(f"{function.name}() does not take the argument '{name}' here")
            found[name] = value
        defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
        for parameter, default in zip([*plain, *arguments.kwonlyargs], defaults, strict=True):
            if parameter.arg not in found:
                if default is None:
                    raise NeedsRunning(parameter, f"its argument '{parameter.arg}' has no default")
                found[parameter.arg] = self.value(default)
        self.names.update(found)

    def _result(self, function: ast.FunctionDef) -> Any:
        try:
            self.block(move_returns_last(function.body))
        except _Returned as returned:
            return conditions.final(returned.value)
        return None

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Evaluate statements, one after the other."""
        for place, statement in enumerate(statements):
            self._statement(statement, statements[place + 1 :])

    def _statement(self, statement: ast.stmt, after: Sequence[ast.stmt]) -> None:
        self.line = statement.lineno
        match statement:
            case ast.Assign() | ast.AnnAssign():
                self._assign(statement)
            case ast.AugAssign(target=ast.Name(id=name)):
                if name not in self.names:
                    raise NeedsRunning(statement, f"'{name}' is not known here")
                self._before = next_call_number()
                value = self.operation(statement.op, self.names[name], self.value(statement.value), statement)
                self.store(statement.target, value)
            case ast.If():
                self._if(statement, after)
            case ast.For():
                self._for(statement, after)
            case ast.Return():
                raise _Returned(None if statement.value is None else self.value(statement.value))
            case ast.Break() | ast.Continue():
                raise _Left(isinstance(statement, ast.Break))
            case ast.Expr(value=ast.Call() as call) if self._constructed is not None and _is_constructor(call):
                skipped = 1 if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else 0
                values = [self.value(item) for item in call.args[skipped:]]
                self._constructed(*values, **self.keywords(call.keywords))
            case ast.Expr():
                self.value(statement.value)
            case ast.Pass():
                pass
            case _:
                raise NeedsRunning(statement, f"there is a statement '{type(statement).__name__.lower()}'")

    def _for(self, statement: ast.For, after: Sequence[ast.stmt]) -> None:
        later, self._read_later = self._read_later, self._read_later | reads(statement, *after)
        try:
            for item in self.items(statement.iter):
                self.store(statement.target, item)
                try:
                    self.block(statement.body)
                except _Left as left:
                    if left.ends:
                        return
            self.block(statement.orelse)
        finally:
            self._read_later = later

    def _if(self, statement: ast.If, after: Sequence[ast.stmt]) -> None:
        """A condition: on a node, both branches are evaluated and joined, as tracing does."""
        last = getattr(statement, "last", False)
        test = self.condition(statement.test)
        if not isinstance(test, DataNode):
            self._inside(statement.body if test else statement.orelse, self._read_later | reads(*after))
            return
        written = writes([*statement.body, *statement.orelse])
        if not all(name.isidentifier() for name in written):
            raise NeedsRunning(statement, "a branch writes something other than a variable")
        later = reads(*after) | self._read_later
        outputs = [name for name in written if name in later]
        names = (*outputs, *(name for name in written if name not in outputs))

        def branch(statements: Sequence[ast.stmt]) -> Callable[[], Any]:
            def evaluate() -> Any:
                try:
                    self._inside(statements, later)
                except _Returned as returned:
                    if last:
                        return returned.value
                    raise NeedsRunning(statement, "a node decides over a return inside a loop") from None
                except _Left:
                    raise NeedsRunning(statement, "a node decides over the end of a loop") from None
                return conditions.nothing if last else None

            return evaluate

        def get_state() -> tuple[Any, ...]:
            return tuple(self.names.get(name, conditions.undefined(name)) for name in names)

        def set_state(state: tuple[Any, ...]) -> None:
            for name, value in zip(names, state, strict=True):
                if conditions.defined(value):
                    self.names[name] = value
                else:
                    self.names.pop(name, None)

        result = conditions.if_statement(
            test, branch(statement.body), branch(statement.orelse), get_state, set_state, names, len(outputs)
        )
        if last:
            raise _Returned(result)

    def _inside(self, statements: Sequence[ast.stmt], later: frozenset[str]) -> None:
        before, self._read_later = self._read_later, later
        try:
            self.block(statements)
        finally:
            self._read_later = before

    # -- variables --------------------------------------------------------------------------------------------------

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
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
            if isinstance(value, DataNode):
                self._suggest(value, (target.id,))
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
        else:
            raise NeedsRunning(target, "a value goes to something other than a variable")

    def _suggest(self, node: DataNode, names: tuple[str, ...]) -> None:
        """Name a node after the variable that takes it from the call that makes it."""
        if not node.source.suggested and node.source.number > self._before:
            node.source.suggested = node_name(names)


def _parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _is_constructor(call: ast.Call) -> bool:
    """``super().__init__(…)``, ``super(Class, self).__init__(…)`` or ``Pipeline.__init__(self, …)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "__init__":
        return False
    owner = call.func.value
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id == "Pipeline"
