"""Reads pipeline functions out of Python code without running it: calls of operators on constants and on each other.

What needs more than that (loops, helper functions, imports of other modules that compute something) must be traced in a
process of its own, when a person agrees to run the file: :mod:`dali_lab.formats.python_import`.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

from dali_lab.errors import DaliLabError, FormatError, nearest
from dali_lab.formats.python_comments import with_comments
from dali_lab.formats.python_evaluation import Evaluator, NeedsRunning
from dali_lab.graph.graph import Graph
from dali_lab.graph.naming import suggesting

_PACKAGES = ("dali_lab", "nvidia.dali")


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


def read(text: str, name: str | None = None) -> Graph:
    """The graph of a pipeline function, without running anything.

    Parameters
    ----------
    name
        Which function; needed if there are several.

    Raises
    ------
    FormatError
        If there is no such function, if its code is wrong, or if it must be run to know the graph.
    """
    module = parse(text)
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef) and decorator_of(node)}
    if name is None:
        if not functions:
            raise FormatError("there is no function under @pipeline_def here; other styles must be run to be read")
        if len(functions) > 1:
            raise FormatError(f"there are several pipelines here: {', '.join(functions)}; choose one by its name")
        name = next(iter(functions))
    if name not in functions:
        raise FormatError(f"there is no pipeline function '{name}'{nearest(name, functions)}")
    function = functions[name]
    evaluator = Evaluator()
    try:
        evaluator.look_around(module)
        return with_comments(_define(evaluator, function), text)
    except NeedsRunning as error:
        raise FormatError(
            f"line {error.line}: {error.reason}; to read this program it must be run, so agree to that if you trust it"
        ) from error
    except FormatError:
        raise
    except DaliLabError as error:
        error.origin = None
        raise FormatError(f"line {evaluator.line}: {error}") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, NotImplementedError) as error:
        raise FormatError(f"line {evaluator.line}: {error}") from error
    except RecursionError as error:
        raise FormatError("this is nested too deeply to be read") from error


def _define(evaluator: Evaluator, function: ast.FunctionDef) -> Graph:
    from dali_lab.conditionals import ConditionStack
    from dali_lab.pipeline import Pipeline

    decorator = decorator_of(function)
    settings: dict[str, Any] = {}
    if isinstance(decorator, ast.Call):
        if decorator.args:
            raise NeedsRunning(decorator, "pipeline_def takes names of arguments alone")
        settings = evaluator.keywords(decorator.keywords)
    conditionals = bool(settings.pop("enable_conditionals", False))
    settings.pop("debug", None)
    accepted = inspect.signature(Pipeline.__init__).parameters
    unknown = [key for key in settings if key not in accepted]
    if unknown:
        raise FormatError(
            f"line {function.lineno}: pipeline_def has no argument '{unknown[0]}'{nearest(unknown[0], accepted)}"
        )
    with warnings.catch_warnings(), suggesting(""):
        warnings.simplefilter("ignore")
        pipeline = Pipeline(**{"batch_size": 1, **settings})
        if conditionals:
            pipeline._condition_stack = ConditionStack()
        with pipeline:
            evaluator.bind(function)
            outputs = evaluator.run(function.body)
            pipeline.set_outputs(*outputs)
        graph = pipeline.graph
    return graph.replaced(pipeline=_stored(graph.pipeline, settings))


def _stored(traced: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were written down, with those that every pipeline stores."""
    plain = {key: value for key, value in given.items() if isinstance(value, (bool, int, float, str, dict))}
    return {**plain, **{key: value for key, value in traced.items() if key in given or key != "batch_size"}}
