"""Reads pipelines out of Python code without running it: calls of operators on constants and on each other.

Conditions, loops over what is known, functions of the program, pipeline classes and ``with`` blocks are followed.
Programs that need more than that (other modules that compute something, files) must be traced in a process of its own,
when a person agrees to run the program: :mod:`dali_lab.formats.python.tracing`.
"""

from __future__ import annotations

import ast
import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dali_lab.conditionals import ConditionStack
from dali_lab.formats.disk import PathLike
from dali_lab.formats.python.calls import with_subgraphs
from dali_lab.formats.python.comments import with_comments
from dali_lab.formats.python.execution import Interpreter
from dali_lab.formats.python.names import Definition, Function
from dali_lab.formats.python.plain_values import NeedsRunning
from dali_lab.formats.python.programs import STAND_INS, decorator_of, lineage, methods, parse, pipelines, signature
from dali_lab.graph.graph import Graph
from dali_lab.graph.naming import suggesting
from dali_lab.graph.recorder import SubgraphCall
from dali_lab.model.errors import DaliLabError, FormatError, nearest
from dali_lab.pipeline.pipeline import Pipeline


def read(text: str, name: str | None = None, arguments: Mapping[str, Any] | None = None, file: PathLike = "") -> Graph:
    """The graph of a pipeline, without running anything.

    Parameters
    ----------
    name
        Which function under ``pipeline_def``, class with ``define_graph``, or variable of a ``with`` block; needed if
        there are several.
    arguments
        Arguments of the function or of the class, and settings of the pipeline.
    file
        Where the program stands, its ``__file__``; by default in the working directory.

    Raises
    ------
    FormatError
        If there is no such pipeline, if its code is wrong, or if it must be run to know the graph.
    """
    module = parse(text)
    found = {entry.name: entry.statement for entry in pipelines(module) if entry.statement in module.body}
    if name is None:
        if not found:
            raise FormatError(
                "there is no pipeline here that can be read; other styles must be run to be read", code="needs_running"
            )
        if len(found) > 1:
            raise FormatError(
                f"there are several pipelines here: {', '.join(found)}; choose one by its name"
                " (load(FILE, name=NAME); dali-lab convert FILE graph.dali.json --pipeline NAME)"
            )
        name = next(iter(found))
    if name not in found:
        raise FormatError(f"there is no pipeline '{name}'{nearest(name, found)}")
    interpreter = Interpreter()
    interpreter.names["__file__"] = os.path.abspath(file or "pipeline.py")
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
        return with_comments(with_subgraphs(*graph, text), text)
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


_Defined = tuple[Graph, Mapping[str, SubgraphCall]]


def _of_function(
    interpreter: Interpreter, module: ast.Module, function: ast.FunctionDef, given: Mapping[str, Any]
) -> _Defined:
    interpreter.look_around(module.body)
    decorator = decorator_of(function)
    settings: dict[str, Any] = {}
    if isinstance(decorator, ast.Call):
        if decorator.args:
            raise NeedsRunning(decorator, "pipeline_def takes names of arguments alone")
        settings = interpreter.keywords(decorator.keywords)
    own = signature(function.args).parameters.keys()
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
) -> _Defined:
    interpreter.look_around(module.body)
    ancestors, plain = lineage(module, definition)
    classes = list(map(methods, ancestors))
    define_graph = next((each["define_graph"] for each in classes if "define_graph" in each), None)
    if not plain or not any("__init__" in each for each in classes) or define_graph is None:
        raise NeedsRunning(definition, "it is not a plain subclass of Pipeline with a constructor")
    made = interpreter.construct(classes, {**STAND_INS, **given})

    def define() -> tuple[Any, ...]:
        result = interpreter.call_function(Function(define_graph), [interpreter.instance], {})
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    return _defined(made.settings, define)


def _of_block(interpreter: Interpreter, module: ast.Module, block: ast.With) -> _Defined:
    place = module.body.index(block)
    interpreter.look_around(module.body[:place])
    item, *others = block.items
    made = interpreter.value(item.context_expr)
    if others or not isinstance(made, Definition):
        raise NeedsRunning(block, "the context manager is not a Pipeline")
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


def _defined(
    settings: Mapping[str, Any], define: Callable[[], tuple[Any, ...]], conditionals: bool = False
) -> _Defined:
    """The graph of a pipeline whose operators are called by a function, which gives the outputs; and its sub-graphs."""
    pipeline = Pipeline(**{"batch_size": 1, **settings})
    if conditionals:
        pipeline._recorder.conditions = ConditionStack()
    with pipeline:
        pipeline.set_outputs(*define())
    graph = pipeline.graph
    # The settings that were written down, with those that every pipeline stores.
    plain = {key: value for key, value in settings.items() if isinstance(value, (bool, int, float, str, dict))}
    stored = {key: value for key, value in graph.pipeline.items() if key in settings or key != "batch_size"}
    return graph.replaced(pipeline={**plain, **stored}), pipeline._recorder.subgraphs
