"""Statements of pipeline definitions, without running anything else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dali_lab.conditionals import runtime as conditions
from dali_lab.conditionals.liveness import reads, writes
from dali_lab.conditionals.returns import move_returns_last
from dali_lab.formats.python.evaluation import Evaluator
from dali_lab.formats.python.names import Definition, Function, Instance, imported
from dali_lab.formats.python.plain_values import MOST_ITEMS, NeedsRunning
from dali_lab.formats.python.programs import signature
from dali_lab.graph.naming import node_name
from dali_lab.graph.recorder import DataNode, next_call_number
from dali_lab.graph.subgraph import subgraph, subgraph_call
from dali_lab.model.references import PythonReference

_MOST_DEPTH = 50
_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
"""Python's own errors, which programs may handle."""


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _LoopExit(Exception):
    """``break`` or ``continue``."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends


class Interpreter(Evaluator):
    """Evaluates the statements of a module and of functions in it, and names nodes after variables.

    Attributes
    ----------
    instance
        The object of the pipeline class that is read.
    """

    instance: Instance

    def __init__(self) -> None:
        super().__init__()
        self._read_later: frozenset[str] = frozenset()
        self._depth = 0
        self._module: dict[str, Any] = {}
        self._constructors: list[ast.FunctionDef] = []
        self._constructed: Callable[..., Any] | None = None

    # -- the module -----------------------------------------------------------------------------------------------

    def look_around(self, statements: Sequence[ast.stmt]) -> None:
        """Take in the imports, constants and functions of a module."""
        self.names.setdefault("__name__", "program")
        for statement in statements:
            self._define(statement)
        self._module = dict(self.names)

    def _define(self, statement: ast.stmt) -> None:
        """Take in the definitions of a statement of a module; variables whose values are unknown are forgotten."""
        try:
            if isinstance(statement, ast.Try):
                inside = [*statement.body, *statement.orelse, *statement.finalbody]
            elif isinstance(statement, ast.If):
                if isinstance(test := self.condition(statement.test), DataNode):
                    raise NeedsRunning(statement, "a node decides over a module")
                inside = statement.body if test else statement.orelse
            else:
                self._statement(statement, ())
                return
            for inner in inside:
                self._define(inner)
        except (NeedsRunning, _LoopExit, _Returned, *_ERRORS):
            for name in writes([statement]):
                self.names.pop(name, None)

    # -- functions and objects --------------------------------------------------------------------------------------

    def call_function(self, function: Function, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call; variables of the function are its own."""
        if self._depth >= _MOST_DEPTH:
            raise NeedsRunning(function.code, "functions are nested too deeply")
        if function.subgraph:
            name = keywords.pop("name", None)
            with subgraph_call(getattr(function.code, "name", ""), name, arguments, keywords) as call:
                call.results = self.call_function(replace(function, subgraph=False), arguments, keywords)
                return call.results
        before = self.names, self._read_later
        self.names, self._read_later = {**self._module, **(function.outside or {})}, frozenset()
        self._depth += 1
        try:
            self._bind(function.code, arguments, keywords)
            if isinstance(function.code, ast.Lambda):
                return self.value(function.code.body)
            try:
                self.block(move_returns_last(function.code.body))
            except _Returned as returned:
                return conditions.final(returned.value)
        finally:
            self._depth -= 1
            self.names, self._read_later = before
            self._before = next_call_number()

    def _bind(self, code: ast.FunctionDef | ast.Lambda, values: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Give the parameters of a function their values."""
        own = signature(code.args)
        try:
            bound = own.bind_partial(*values, **keywords)
        except TypeError as error:
            raise TypeError(f"{getattr(code, 'name', 'lambda')}(): {error}") from None
        found = dict(bound.arguments)
        for name, parameter in own.parameters.items():
            if name in found:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                found[name] = () if parameter.kind is parameter.VAR_POSITIONAL else {}
            elif parameter.default is parameter.empty:
                raise NeedsRunning(code, f"its argument '{name}' has no default", name)
            else:
                found[name] = self.value(parameter.default)
        self.names.update(found)

    def construct(self, classes: Sequence[Mapping[str, ast.FunctionDef]], given: Mapping[str, Any]) -> Definition:
        """Make :attr:`instance` by the constructors of a pipeline class; returns the arguments for ``Pipeline``.

        Parameters
        ----------
        classes
            The functions of the class and of the classes that it is derived from, in that order.
        given
            Arguments for its constructor, as far as it takes them.
        """
        made: list[Definition] = []
        self._constructed = lambda *values, **settings: made.append(Definition(*values, **settings))
        self.instance = Instance({name: code for each in reversed(classes) for name, code in each.items()})
        self._constructors = [each["__init__"] for each in classes if "__init__" in each]
        first = self._constructors.pop(0)
        wanted = {name: value for name, value in given.items() if name in signature(first.args).parameters}
        self.call_function(Function(first), [self.instance], wanted)
        self._constructed = None
        if len(made) != 1:
            raise NeedsRunning(first, "the constructor of Pipeline is not called")
        return made[0]

    def _construct_base(self, call: ast.Call) -> None:
        """``super().__init__(…)``: the constructor of the next class, or that of ``Pipeline``."""
        skipped = 1 if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else 0
        values, keywords = self.positional(call.args[skipped:]), self.keywords(call.keywords)
        if self._constructors:
            self.call_function(Function(self._constructors.pop(0)), [self.names["self"], *values], keywords)
        elif self._constructed is not None:
            self._constructed(*values, **keywords)

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Evaluate statements, one after the other."""
        for place, statement in enumerate(statements):
            self._statement(statement, statements[place + 1 :])

    def _statement(self, statement: ast.stmt, after: Sequence[ast.stmt]) -> None:
        self.line = statement.lineno
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._assign([target], value)
            case ast.AugAssign(target=target):
                self._before = next_call_number()
                held = self.value(target)
                self.store(target, self.operation(statement.op, held, self.value(statement.value), statement))
            case ast.Import() | ast.ImportFrom():
                self.names.update(imported(statement))
            case ast.FunctionDef():
                decorators = statement.decorator_list
                named = [self.names.get(each.id) is subgraph for each in decorators if isinstance(each, ast.Name)]
                function = Function(statement, self.names if self._depth else None, subgraph=named == [True])
                plain = (function.subgraph and len(decorators) == 1) or not decorators
                self.names[statement.name] = function if plain else function.reference()
            case ast.ClassDef():
                self.names[statement.name] = PythonReference(None, f"{statement.name}, line {statement.lineno}")
            case ast.If():
                self._if(statement, after)
            case ast.For() | ast.While():
                self._loop(statement, after)
            case ast.Return(value=value):
                raise _Returned(None if value is None else self.value(value))
            case ast.Break() | ast.Continue():
                raise _LoopExit(isinstance(statement, ast.Break))
            case ast.Try():
                try:
                    self._try(statement)
                except NeedsRunning:
                    raise
                except Exception:
                    self.block(statement.finalbody)
                    raise
                self.block(statement.finalbody)
            case ast.Assert():
                self._assert(statement)
            case ast.Expr(value=ast.Call() as call) if self._constructed is not None and _is_constructor(call):
                self._construct_base(call)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.value(value)
            case _:
                raise NeedsRunning(statement, f"there is a statement '{type(statement).__name__.lower()}'")

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        self._before = next_call_number()
        found = self.value(value)
        for target in targets[::-1]:
            self.store(target, found)

    def store(self, target: ast.expr, value: Any) -> None:
        """Assign a value, and name nodes after the variable."""
        match target:
            case ast.Name():
                self.names[target.id] = value
                several = list(value.values()) if isinstance(value, dict) else value
                several = several if isinstance(several, list) else [several]
                if several and len({id(getattr(item, "source", item)) for item in several}) == 1:
                    self._suggest(several[0], (target.id,))  # the outputs of one call
            case ast.Tuple() | ast.List():
                self._store_apart(target.elts, value)
            case ast.Attribute() if isinstance(owner := self.value(target.value), Instance):
                owner.attributes[target.attr] = value
            case ast.Subscript() if isinstance(held := self.value(target.value), (list, dict)):
                key = self.value(target.slice)
                if isinstance(held, dict) and key not in held and len(held) >= MOST_ITEMS:
                    raise NeedsRunning(target, "a dictionary grows without end")
                held[key] = value
            case _:
                raise NeedsRunning(target, "something other than a variable is assigned")

    def _store_apart(self, targets: Sequence[ast.expr], value: Any) -> None:
        """``first, second = value``, or ``first, *rest = value``."""
        starred = next((place for place, item in enumerate(targets) if isinstance(item, ast.Starred)), None)
        least, size = len(targets) - (starred is not None), len(value) if isinstance(value, (tuple, list)) else -1
        if size < least or (starred is None and size > least):
            raise ValueError(f"cannot unpack: {'' if starred is None else 'at least '}{least} values are expected")
        if starred is not None:
            behind = size - (least - starred)
            value = [*value[:starred], list(value[starred:behind]), *value[behind:]]
        for item, each in zip(targets, value, strict=True):
            self.store(item.value if isinstance(item, ast.Starred) else item, each)
        calls = {id(item.source) for item in value if isinstance(item, DataNode)}
        if len(calls) == 1 and starred is None and isinstance(value[0], DataNode):
            if value[0].source.number > self._before:
                value[0].source.suggested = ""
            self._suggest(value[0], tuple(item.id if isinstance(item, ast.Name) else "_" for item in targets))

    def _suggest(self, node: Any, names: tuple[str, ...]) -> None:
        """Name a node after the variable that takes it from the call that makes it."""
        if isinstance(node, DataNode) and not node.source.suggested and node.source.number > self._before:
            node.source.suggested = node_name(names)

    def _loop(self, statement: ast.For | ast.While, after: Sequence[ast.stmt]) -> None:
        """A loop, round after round; variables that it reads are read again after each of its statements."""
        later, self._read_later = self._read_later, self._read_later | reads(statement, *after)
        try:
            for _ in self._rounds(statement):
                try:
                    self.block(statement.body)
                except _LoopExit as left:
                    if left.ends:
                        return
            self.block(statement.orelse)
        finally:
            self._read_later = later

    def _rounds(self, statement: ast.For | ast.While) -> Iterator[None]:
        """The rounds of a loop, each after its first line."""
        if isinstance(statement, ast.For):
            for item in self.items(statement.iter):
                self.store(statement.target, item)
                yield
            return
        while isinstance(test := self.condition(statement.test), DataNode) or test:
            if isinstance(test, DataNode):
                raise NeedsRunning(statement, "a node decides over a loop")
            self.step(statement)
            yield

    def _try(self, statement: ast.Try) -> None:
        """The body of a ``try``, and where it raises one of Python's own errors, the handler for that."""
        try:
            self.block(statement.body)
        except _ERRORS as error:
            handler = next((each for each in statement.handlers if _handles(each, error)), None)
            if handler is None or isinstance(error, RecursionError):
                raise
            if handler.name:
                self.names[handler.name] = PythonReference(None, type(error).__name__)
            self.block(handler.body)
        else:
            self.block(statement.orelse)

    def _assert(self, statement: ast.Assert) -> None:
        """Raise if an assertion is known to fail."""
        try:
            holds = self.condition(statement.test)
        except NeedsRunning:
            return
        if not isinstance(holds, DataNode) and not holds:
            raise ValueError(f"the assertion fails: {ast.unparse(statement.test)[:100]}")

    def _if(self, statement: ast.If, after: Sequence[ast.stmt]) -> None:
        """A condition: on a node, both branches are evaluated and joined, as tracing does."""
        last = getattr(statement, "last", False)
        test = self.condition(statement.test)
        later = self._read_later | reads(*after)
        if not isinstance(test, DataNode):
            self._inside(statement.body if test else statement.orelse, later)
            return
        written = writes([*statement.body, *statement.orelse])
        if not all(name.isidentifier() for name in written):
            raise NeedsRunning(statement, "a branch writes something other than a variable")
        names = tuple(sorted(written, key=lambda name: name not in later))

        def branch(statements: Sequence[ast.stmt]) -> Any:
            try:
                self._inside(statements, later)
            except _Returned as returned:
                if last:
                    return returned.value
                raise NeedsRunning(statement, "a node decides over a return inside a loop") from None
            except _LoopExit:
                raise NeedsRunning(statement, "a node decides over the end of a loop") from None
            return conditions.nothing if last else None

        def get_state() -> tuple[Any, ...]:
            return tuple(self.names.get(name, conditions.undefined(name)) for name in names)

        def set_state(state: tuple[Any, ...]) -> None:
            for name, value in zip(names, state, strict=True):
                if conditions.defined(value):
                    self.names[name] = value
                else:
                    self.names.pop(name, None)

        body, orelse = partial(branch, statement.body), partial(branch, statement.orelse)
        outputs = sum(name in later for name in names)
        result = conditions.if_statement(test, body, orelse, get_state, set_state, names, outputs)
        if last:
            raise _Returned(result)

    def _inside(self, statements: Sequence[ast.stmt], later: frozenset[str]) -> None:
        before, self._read_later = self._read_later, later
        try:
            self.block(statements)
        finally:
            self._read_later = before


def _handles(handler: ast.ExceptHandler, error: Exception) -> bool:
    """Whether a handler names the type of an error, or one that it is derived from."""
    if handler.type is None:
        return True
    listed = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return any(isinstance(kind, ast.Name) and kind.id in kinds for kind in listed)


def _is_constructor(call: ast.Call) -> bool:
    """``super().__init__(…)``, ``super(Class, self).__init__(…)`` or ``Pipeline.__init__(self, …)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "__init__":
        return False
    owner = call.func.value
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and ast.unparse(call).startswith(f"{owner.id}.__init__(self")
