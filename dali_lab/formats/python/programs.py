"""Pipelines in the text of a program, found without running it."""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

from dali_lab.model.errors import FormatError

Style = Literal["function", "class", "context"]
STAND_INS: dict[str, Any] = {"batch_size": 8, "num_threads": 2, "device_id": None}
"""Arguments of constructors of pipeline classes where none are given."""
_PACKAGES = ("dali_lab", "nvidia.dali")
_MOST_DEFAULT = 200


@dataclass(frozen=True)
class Found:
    """A pipeline in a program.

    Attributes
    ----------
    name
        The function, the class, or the variable that holds the pipeline.
    style
        A function under ``pipeline_def``, a class with ``define_graph``, or a ``with`` block.
    line
        Where it begins.
    summary
        First line of its documentation.
    arguments
        Arguments that must be given.
    optional
        The others, each with its default as text, or `None` where that is no plain value.
    statement
        The definition.
    """

    name: str
    style: Style
    line: int
    summary: str = ""
    arguments: tuple[str, ...] = ()
    optional: tuple[tuple[str, str | None], ...] = ()
    statement: ast.stmt | None = field(default=None, repr=False, compare=False)


def decoded(data: bytes) -> str:
    """The text of a program, in UTF-8 or the encoding that its first lines declare.

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
        raise FormatError(f"line {line}: this is not text in {error.encoding}, so it is not a program") from error
    except SyntaxError as error:
        raise FormatError(f"this is not a program: {error.msg or 'its encoding is not known'}") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"line {line}: there is a zero byte, so it is not a program")
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
        raise FormatError(f"this is not Python: {error.msg}, line {error.lineno}") from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise FormatError(f"this is not Python that can be read: {error}") from error


def looks_like_python(text: str) -> bool:
    """Whether a text is a program, or was meant to be one."""
    try:
        parse(text)
    except FormatError:
        return any(f"{word} {package}" in text for word in ("import", "from") for package in _PACKAGES)
    return True


def pipelines(program: str | ast.Module) -> list[Found]:
    """The pipelines in a program, found without running it.

    Raises
    ------
    FormatError
        If it is no Python.
    """
    module = parse(program) if isinstance(program, str) else program
    found: list[Found] = []
    classes: dict[str, ast.ClassDef] = {}
    for statement in module.body:
        match statement:
            case ast.FunctionDef() if decorator_of(statement) is not None:
                found.append(_found(statement, "function", *_arguments(statement)))
            case ast.ClassDef() if "define_graph" in methods(statement) or _base(statement) in classes:
                classes[statement.name] = statement
                found.append(_found(statement, "class", *_arguments_of_class(module, statement)))
    nodes = list(ast.walk(module))
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and _makes_pipeline(node.value)]
    made = {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}
    made |= {
        node.value.id
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr == "set_outputs"
    }
    for node in nodes:
        if not isinstance(node, ast.With):
            continue
        for item in node.items:
            entered = item.context_expr if item.optional_vars is None else item.optional_vars
            if isinstance(entered, ast.Name) and (entered.id in made or _makes_pipeline(item.context_expr)):
                found.append(Found(entered.id, "context", node.lineno, statement=node))
    return sorted(found, key=lambda entry: entry.line)


def _found(
    statement: ast.FunctionDef | ast.ClassDef,
    style: Style,
    required: tuple[str, ...],
    optional: tuple[tuple[str, str | None], ...],
) -> Found:
    summary = (ast.get_docstring(statement) or "").strip().split("\n")[0]
    return Found(statement.name, style, statement.lineno, summary, required, optional, statement)


def decorator_of(function: ast.FunctionDef) -> ast.expr | None:
    """The ``pipeline_def`` that stands over a function, if one does."""
    return next((each for each in function.decorator_list if _called(each) == "pipeline_def"), None)


def _called(node: ast.expr) -> str:
    """The last part of the name of a function, or of the one that a call is of."""
    target = node.func if isinstance(node, ast.Call) else node
    return str(getattr(target, "attr", getattr(target, "id", "")))


def _makes_pipeline(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node) == "Pipeline"


def methods(definition: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The functions of a class by their names."""
    return {item.name: item for item in definition.body if isinstance(item, ast.FunctionDef)}


def _base(definition: ast.ClassDef) -> str:
    """The name of the only class that a class is derived from, empty if there is another number."""
    return _called(definition.bases[0]) if len(definition.bases) == 1 else ""


def lineage(module: ast.Module, definition: ast.ClassDef) -> tuple[list[ast.ClassDef], bool]:
    """A class and the classes of the program that it is derived from, and whether the last is derived from Pipeline."""
    known = {item.name: item for item in module.body if isinstance(item, ast.ClassDef)}
    result = [definition]
    while (base := _base(result[-1])) in known and known[base] not in result:
        result.append(known[base])
    return result, base == "Pipeline"


def signature(arguments: ast.arguments) -> inspect.Signature:
    """The parameters of a function, with its defaults as expressions."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    kinds = inspect.Parameter
    own = [
        *zip(positional, [*without, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    result = []
    for place, (parameter, default) in enumerate(own):
        by_name = kinds.POSITIONAL_OR_KEYWORD if place < len(positional) else kinds.KEYWORD_ONLY
        kind = kinds.POSITIONAL_ONLY if place < len(arguments.posonlyargs) else by_name
        result.append(kinds(parameter.arg, kind, default=kinds.empty if default is None else default))
    if arguments.vararg is not None:
        result.insert(len(positional), kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    if arguments.kwarg is not None:
        result.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(result)


_Arguments = tuple[tuple[str, ...], tuple[tuple[str, str | None], ...]]


def _arguments(function: ast.FunctionDef) -> _Arguments:
    """Arguments of a function that must be given, and the others with their defaults."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own = [each for each in signature(function.args).parameters.values() if each.kind not in several]
    required = tuple(each.name for each in own if each.default is each.empty)
    return required, tuple((each.name, _plain_text(each.default)) for each in own if each.name not in required)


def _plain_text(default: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return repr(value)[:_MOST_DEFAULT]


def _arguments_of_class(module: ast.Module, definition: ast.ClassDef) -> _Arguments:
    """Arguments of a pipeline class: those of its constructor that have no stand-in."""
    constructors = [found for each in lineage(module, definition)[0] if (found := methods(each).get("__init__"))]
    if not constructors:
        return (), ()
    required, optional = _arguments(constructors[0])
    others = tuple(name for name in required[1:] if name not in STAND_INS)
    stand_ins = ((name, repr(STAND_INS[name])) for name in required if name in STAND_INS)
    return others, (*stand_ins, *optional)
