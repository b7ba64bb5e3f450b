"""Reads pipelines out of Python code without running it: calls of operators on constants and on each other.

Conditions, loops over what is known, functions of the program, pipeline classes and ``with`` blocks are followed. What
needs more than that (other modules that compute something, files) must be traced in a process of its own, when a person
agrees to run the program: :mod:`dali_lab.formats.python.tracing`.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dali_lab.conditionals import ConditionStack
from dali_lab.formats.python.comments import with_comments
from dali_lab.formats.python.execution import Interpreter
from dali_lab.formats.python.names import STAND_INS, Definition, Function
from dali_lab.formats.python.plain_values import NeedsRunning
from dali_lab.graph.graph import Graph
from dali_lab.graph.naming import suggesting
from dali_lab.model.errors import DaliLabError, FormatError, nearest
from dali_lab.pipeline.pipeline import Pipeline

_PACKAGES = ("dali_lab", "nvidia.dali")


def decoded(data: bytes) -> str:
    """The text of a program: UTF-8, or what its first lines declare.

    Raises
    ------
    FormatError
        If it is none; with the line.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line}: this is no text in {error.encoding}, so it is no program") from error
    except SyntaxError as error:
        raise FormatError(f"this is no program: {error.msg or 'its encoding is not known'}") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"line {line}: there is a zero byte, so it is no program")
    return text


def parse(text: str) -> ast.Module:
    """The syntax tree of a program.

    Raises
    ------
    FormatError
        If it is no Python; with the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise FormatError(f"this is no Python: {error.msg}, line {error.lineno}") from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise FormatError(f"this is no Python that can be read: {error}") from error


def looks_like_python(text: str) -> bool:
    """Whether a text is a program, or was meant to be one."""
    try:
        parse(text)
    except FormatError:
        return any(f"{word} {package}" in text for word in ("import", "from") for package in _PACKAGES)
    return True


def decorator_of(function: ast.AST) -> ast.expr | None:
    """The ``pipeline_def`` that stands over a function, if one does."""
    for decorator in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name == "pipeline_def":
            return decorator
    return None


def pipeline_classes(module: ast.Module) -> list[ast.ClassDef]:
    """The classes of a program with ``define_graph``, their own or that of a class of the program before them."""
    found: dict[str, ast.ClassDef] = {}
    for statement in module.body:
        if isinstance(statement, ast.ClassDef):
            derived = any(getattr(base, "id", None) in found for base in statement.bases)
            if derived or _method(statement, "define_graph") is not None:
                found[statement.name] = statement
    return list(found.values())


def read(text: str, name: str | None = None, arguments: Mapping[str, Any] | None = None) -> Graph:
    """The graph of a pipeline, without running anything.

    Parameters
    ----------
    name
        Which function under ``pipeline_def``, class with ``define_graph``, or variable of a ``with`` block; needed if
        there are several.
    arguments
        Arguments of the function or of the class, and settings of the pipeline.

    Raises
    ------
    FormatError
        If there is no such pipeline, if its code is wrong, or if it must be run to know the graph.
    """
    module = parse(text)
    classes = pipeline_classes(module)
    found = {key: statement for statement in module.body for key in _pipelines_of(statement, classes)}
    if name is None:
        if not found:
            raise FormatError(
                "there is no pipeline here that can be read; other styles must be run to be read", code="needs_running"
            )
        if len(found) > 1:
            raise FormatError(f"there are several pipelines here: {', '.join(found)}; choose one by its name")
        name = next(iter(found))
    if name not in found:
        raise FormatError(f"there is no pipeline '{name}'{nearest(name, found)}")
    interpreter = Interpreter()
    try:
        with warnings.catch_warnings(), suggesting(""):
            warnings.simplefilter("ignore")
            match found[name]:
                case ast.FunctionDef() as function:
                    graph = _of_function(interpreter, module, function, arguments or {})
                case ast.ClassDef() as definition:
                    graph = _of_class(interpreter, module, definition, arguments or {})
                case ast.With() as block:
                    graph = _of_block(interpreter, module, block)
                case _:
                    raise AssertionError("a pipeline of no known style")
        return with_comments(graph, text)
    except NeedsRunning as error:
        raise FormatError(
            f"line {error.line}: {error.reason}; to read this program it must be run, so agree to that if you trust it",
            code="needs_running",
        ) from error
    except FormatError:
        raise
    except DaliLabError as error:
        error.origin = None
        raise FormatError(f"line {interpreter.line}: {error}") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, NotImplementedError) as error:
        raise FormatError(f"line {interpreter.line}: {error}") from error
    except RecursionError as error:
        raise FormatError("this is nested too deeply to be read") from error


def _pipelines_of(statement: ast.stmt, classes: Sequence[ast.ClassDef]) -> list[str]:
    """The names of the pipelines that a statement of a module defines."""
    match statement:
        case ast.FunctionDef():
            return [statement.name] if decorator_of(statement) is not None else []
        case ast.ClassDef():
            return [statement.name] if statement in classes else []
        case ast.With(items=[ast.withitem(context_expr=ast.Name(id=name), optional_vars=None)]):
            return [name]
        case ast.With(items=[ast.withitem(context_expr=ast.Call(), optional_vars=ast.Name(id=name))]):
            return [name]
    return []


def _method(definition: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((item for item in definition.body if isinstance(item, ast.FunctionDef) and item.name == name), None)


def _of_function(
    interpreter: Interpreter, module: ast.Module, function: ast.FunctionDef, given: Mapping[str, Any]
) -> Graph:
    interpreter.look_around(module.body)
    decorator = decorator_of(function)
    settings: dict[str, Any] = {}
    if isinstance(decorator, ast.Call):
        if decorator.args:
            raise NeedsRunning(decorator, "pipeline_def takes names of arguments alone")
        settings = interpreter.keywords(decorator.keywords)
    own = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    settings.update({key: value for key, value in given.items() if key not in own})
    conditionals = bool(settings.pop("enable_conditionals", False))
    settings.pop("debug", None)
    accepted = inspect.signature(Pipeline.__init__).parameters
    unknown = [key for key in settings if key not in accepted]
    if unknown:
        raise FormatError(
            f"line {function.lineno}: pipeline_def has no argument '{unknown[0]}'{nearest(unknown[0], accepted)}"
        )

    def define() -> tuple[Any, ...]:
        result = interpreter.call_function(Function(function), (), {key: given[key] for key in own & given.keys()})
        return result if isinstance(result, tuple) else () if result is None else (result,)

    return _defined(settings, define, conditionals)


def _of_class(
    interpreter: Interpreter, module: ast.Module, definition: ast.ClassDef, given: Mapping[str, Any]
) -> Graph:
    interpreter.look_around(module.body)
    classes = lineage(module, definition)
    define_graph = next((each["define_graph"] for each in classes if "define_graph" in each), None)
    if not any("__init__" in each for each in classes) or define_graph is None:
        raise NeedsRunning(definition, "it is no plain subclass of Pipeline with a constructor")
    instance, made = interpreter.construct(classes, {**STAND_INS, **given})

    def define() -> tuple[Any, ...]:
        result = interpreter.call_function(Function(define_graph), [instance], {})
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    return _defined(made.settings, define)


def lineage(module: ast.Module, definition: ast.ClassDef) -> list[dict[str, ast.FunctionDef]]:
    """The functions of a class, then those of each class that it is derived from, up to ``Pipeline``."""
    known = {item.name: item for item in module.body if isinstance(item, ast.ClassDef)}
    result: list[dict[str, ast.FunctionDef]] = []
    while True:
        result.append({item.name: item for item in definition.body if isinstance(item, ast.FunctionDef)})
        bases = [getattr(base, "id", getattr(base, "attr", "")) for base in definition.bases]
        if bases == ["Pipeline"]:
            return result
        if len(bases) != 1 or bases[0] not in known or len(result) > len(known):
            raise NeedsRunning(definition, "it is no plain subclass of Pipeline with a constructor")
        definition = known[bases[0]]


def _of_block(interpreter: Interpreter, module: ast.Module, block: ast.With) -> Graph:
    place = module.body.index(block)
    interpreter.look_around(module.body[:place])
    item = block.items[0]
    made = interpreter.value(item.context_expr)
    if not isinstance(made, Definition):
        raise NeedsRunning(block, "what is entered here is no Pipeline")
    if item.optional_vars is not None:
        interpreter.store(item.optional_vars, made)

    def define() -> tuple[Any, ...]:
        interpreter.block(block.body)
        for statement in module.body[place + 1 :]:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="set_outputs"))):
                    if interpreter.names.get(owner) is made:
                        interpreter.block([statement])
        outputs: tuple[Any, ...] | None = made.outputs
        if outputs is None:
            raise NeedsRunning(block, "set_outputs is not called")
        return outputs

    return _defined(made.settings, define)


def _defined(settings: Mapping[str, Any], define: Callable[[], tuple[Any, ...]], conditionals: bool = False) -> Graph:
    """The graph of a pipeline whose operators are called by a function, which gives the outputs."""
    pipeline = Pipeline(**{"batch_size": 1, **settings})
    if conditionals:
        pipeline._recorder.conditions = ConditionStack()
    with pipeline:
        pipeline.set_outputs(*define())
    graph = pipeline.graph
    return graph.replaced(pipeline=_stored(graph.pipeline, settings))


def _stored(traced: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were written down, with those that every pipeline stores."""
    plain = {key: value for key, value in given.items() if isinstance(value, (bool, int, float, str, dict))}
    return {**plain, **{key: value for key, value in traced.items() if key in given or key != "batch_size"}}
