"""Goes through the statements of pipeline definitions, without running anything else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dali_lab.conditionals import runtime as conditions
from dali_lab.conditionals.liveness import reads, writes
from dali_lab.conditionals.returns import move_returns_last
from dali_lab.formats.python.assignment import Assigner
from dali_lab.formats.python.names import Definition, Function, Instance, all_names, imported_module, imported_name
from dali_lab.formats.python.plain_values import NeedsRunning
from dali_lab.graph.recorder import DataNode, next_call_number
from dali_lab.model.references import PythonReference

_MOST_DEPTH = 50


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Left(Exception):
    """``break`` or ``continue``."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends


class Interpreter(Assigner):
    """Evaluates the statements of a module and of functions in it."""

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
        """Take in what a statement of a module defines; what cannot be known is forgotten."""
        if isinstance(statement, ast.Try):
            for inner in (*statement.body, *statement.orelse, *statement.finalbody):
                self._define(inner)
            return
        try:
            if isinstance(statement, ast.If):
                if isinstance(test := self.condition(statement.test), DataNode):
                    raise NeedsRunning(statement, "a node decides over a module")
                for inner in statement.body if test else statement.orelse:
                    self._define(inner)
            elif isinstance(statement, ast.With):
                raise NeedsRunning(statement, "something is entered")
            else:
                self._statement(statement, ())
        except (NeedsRunning, _Left, _Returned, TypeError, ValueError, ArithmeticError, LookupError, RuntimeError):
            for name in writes([statement]):
                self.names.pop(name, None)

    # -- functions and objects --------------------------------------------------------------------------------------

    def call_function(self, function: Function, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call; variables of the function are its own."""
        if self._depth >= _MOST_DEPTH:
            raise NeedsRunning(function.code, "functions call each other too deeply")
        before = self.names, self._read_later
        self.names, self._read_later = {**self._module, **(function.outside or {})}, frozenset()
        self._depth += 1
        try:
            self._bind(function.code, arguments, keywords)
            if isinstance(function.code, ast.Lambda):
                return self.value(function.code.body)
            return self._result(function.code)
        finally:
            self._depth -= 1
            self.names, self._read_later = before
            self._before = next_call_number()

    def construct(
        self, classes: Sequence[Mapping[str, ast.FunctionDef]], given: dict[str, Any]
    ) -> tuple[Instance, Definition]:
        """What the constructors of a pipeline class make of its object, and what they hand to ``Pipeline``.

        Parameters
        ----------
        classes
            The functions of the class and of the classes that it is derived from, in that order.
        """
        made: list[Definition] = []
        self._constructed = lambda *values, **settings: made.append(Definition(*values, **settings))
        instance = Instance({name: code for each in reversed(classes) for name, code in each.items()})
        self._constructors = [each["__init__"] for each in classes if "__init__" in each]
        first = self._constructors.pop(0)
        wanted = {name: value for name, value in given.items() if name in _parameters(first)}
        self.call_function(Function(first), [instance], wanted)
        self._constructed = None
        if len(made) != 1:
            raise NeedsRunning(first, "the constructor of Pipeline is not called")
        return instance, made[0]

    def _construct_base(self, call: ast.Call) -> None:
        """``super().__init__(…)``: the constructor of the next class, or that of ``Pipeline``."""
        skipped = 1 if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else 0
        values, keywords = self._positional(call.args[skipped:]), self.keywords(call.keywords)
        if self._constructors:
            self.call_function(Function(self._constructors.pop(0)), [self.names["self"], *values], keywords)
        elif self._constructed is not None:
            self._constructed(*values, **keywords)

    def _bind(self, code: ast.FunctionDef | ast.Lambda, values: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Give the parameters of a function their values."""
        arguments, called = code.args, getattr(code, "name", "lambda")
        plain = [*arguments.posonlyargs, *arguments.args]
        if len(values) > len(plain) and arguments.vararg is None:
            raise TypeError(f"{called}() takes {len(plain)} positional arguments, got {len(values)}")
        found = {each.arg: value for each, value in zip(plain, values, strict=False)}
        others: dict[str, Any] = {}
        for name, value in keywords.items():
            if name not in found and name in _parameters(code):
                found[name] = value
            elif arguments.kwarg is not None and name not in found:
                others[name] = value
            else:
                raise TypeError(f"{called}() does not take the argument '{name}' here")
        defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
        for parameter, default in zip([*plain, *arguments.kwonlyargs], defaults, strict=True):
            if parameter.arg not in found:
                if default is None:
                    raise NeedsRunning(parameter, f"its argument '{parameter.arg}' has no default", parameter.arg)
                found[parameter.arg] = self.value(default)
        if arguments.vararg is not None:
            found[arguments.vararg.arg] = tuple(values[len(plain) :])
        if arguments.kwarg is not None:
            found[arguments.kwarg.arg] = others
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
                self.assign(statement)
            case ast.AugAssign():
                self.augment(statement)
            case ast.Import() | ast.ImportFrom():
                self._import(statement)
            case ast.FunctionDef():
                self._define_function(statement)
            case ast.ClassDef():
                self.names[statement.name] = PythonReference(None, f"{statement.name}, line {statement.lineno}")
            case ast.If():
                self._if(statement, after)
            case ast.For() | ast.While():
                self._loop(statement, after)
            case ast.Return():
                raise _Returned(None if statement.value is None else self.value(statement.value))
            case ast.Break() | ast.Continue():
                raise _Left(isinstance(statement, ast.Break))
            case ast.Try():
                self._try(statement)
            case ast.Assert():
                self._assert(statement)
            case ast.Expr(value=ast.Call() as call) if self._constructed is not None and _is_constructor(call):
                self._construct_base(call)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                pass
            case ast.Expr():
                self.value(statement.value)
            case ast.Pass():
                pass
            case _:
                raise NeedsRunning(statement, f"there is a statement '{type(statement).__name__.lower()}'")

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            if isinstance(statement, ast.ImportFrom) and alias.name == "*":
                self.names.update(all_names(statement.module or ""))
            elif isinstance(statement, ast.ImportFrom):
                value = imported_name(statement.module or "", alias.name, statement.level)
                self.names[alias.asname or alias.name] = value
            else:
                name, value = imported_module(alias.name, alias.asname)
                self.names[name] = value

    def _define_function(self, statement: ast.FunctionDef) -> None:
        value = Function(statement, self.names if self._depth else None)
        self.names[statement.name] = value.reference() if statement.decorator_list else value

    def _loop(self, statement: ast.For | ast.While, after: Sequence[ast.stmt]) -> None:
        """A loop, round after round; what it reads itself is read again after each of its statements."""
        later, self._read_later = self._read_later, self._read_later | reads(statement, *after)
        try:
            for _ in self._rounds(statement):
                try:
                    self.block(statement.body)
                except _Left as left:
                    if left.ends:
                        return
            self.block(statement.orelse)
        finally:
            self._read_later = later

    def _rounds(self, statement: ast.For | ast.While) -> Iterator[None]:
        """The rounds of a loop, each after what its first line does."""
        if isinstance(statement, ast.For):
            for item in self.items(statement.iter):
                self.store(statement.target, item)
                yield
        else:
            while self._goes_on(statement):
                self.step(statement)
                yield

    def _goes_on(self, statement: ast.While) -> bool:
        test = self.condition(statement.test)
        if isinstance(test, DataNode):
            raise NeedsRunning(statement, "a node decides over a loop")
        return bool(test)

    def _try(self, statement: ast.Try) -> None:
        """What is tried, and what comes after it however it ends."""
        try:
            self._tried(statement)
        except NeedsRunning:
            raise
        except Exception:
            self.block(statement.finalbody)
            raise
        self.block(statement.finalbody)

    def _tried(self, statement: ast.Try) -> None:
        """What is tried, and where it raises one of Python's own errors, the handler for that."""
        try:
            self.block(statement.body)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError) as error:
            handler = next((each for each in statement.handlers if _handles(each, error)), None)
            if handler is None or isinstance(error, RecursionError):
                raise
            if handler.name:
                self.names[handler.name] = PythonReference(None, type(error).__name__)
            self.block(handler.body)
        else:
            self.block(statement.orelse)

    def _assert(self, statement: ast.Assert) -> None:
        """Raise if what is asserted is known to be wrong."""
        try:
            holds = self.condition(statement.test)
        except NeedsRunning:
            return
        if not isinstance(holds, DataNode) and not holds:
            raise ValueError(f"what is asserted does not hold: {ast.unparse(statement.test)[:100]}")

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


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


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
