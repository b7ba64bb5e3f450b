"""Pipelines from functions: ``pipeline_def``, and the outputs of a function."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Unpack, overload

from dali_lab.graph.recorder import DataNode
from dali_lab.model.errors import ArgumentTypeError, nearest
from dali_lab.model.scalars import ScalarConstant
from dali_lab.model.user_code import user_line
from dali_lab.pipeline.arguments import PipelineArguments

if TYPE_CHECKING:
    from dali_lab.pipeline.functions import PipelineFunction
    from dali_lab.pipeline.pipeline import Pipeline

P = ParamSpec("P")


def as_outputs(outputs: Sequence[Any]) -> tuple[DataNode, ...]:
    """The outputs of a pipeline as nodes: constants and lists of numbers become nodes, nested lists are refused.

    Raises
    ------
    TypeError
        If an output is neither a node nor a constant.
    """
    from dali_lab.graph.constants import implied_constant

    result = []
    for index, item in enumerate(outputs):
        if isinstance(item, DataNode):
            result.append(item)
        elif isinstance(item, (list, tuple)) and _has_node(item):
            raise TypeError(
                f"Illegal pipeline output type. The output {index} contains a nested `DataNode`: it is a"
                f" {type(item).__name__} of nodes. Missing list/tuple expansion (*) is the likely cause"
            )
        elif isinstance(item, ScalarConstant):
            result.append(implied_constant(item.value, dtype=item.dtype, shape=()))
        else:
            try:
                result.append(implied_constant(item))
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"Illegal output type. The output {index} is a `{type(item)}`. Outputs are nodes, numbers, lists of"
                    " numbers and arrays"
                ) from error
    return tuple(result)


def _has_node(items: object) -> bool:
    if isinstance(items, (list, tuple)):
        return any(isinstance(item, DataNode) or _has_node(item) for item in items)
    return False


@overload
def pipeline_def(fn: Callable[P, Any]) -> PipelineFunction[P]: ...


@overload
def pipeline_def(
    fn: None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Unpack[PipelineArguments],
) -> Callable[[Callable[P, Any]], PipelineFunction[P]]: ...


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Turn a function that defines a graph into one that makes pipelines.

    Arguments of :class:`Pipeline` may be given to the decorator, or to each call, where they win. An argument that the
    function itself takes goes to the function alone.

    Parameters
    ----------
    fn
        Calls operators and returns the outputs.
    enable_conditionals
        Let ``if``, ``and``, ``or`` and ``not`` decide for each sample when the pipeline runs.
    debug
        Call the function anew for each batch and run operators as it calls them: ``node.get()`` gives their data.
    """
    if fn is None:
        return lambda defined: pipeline_def(
            defined, enable_conditionals=enable_conditionals, debug=debug, **pipeline_kwargs
        )
    if getattr(fn, "_dali_lab_do_not_convert", False):
        raise ValueError(f"Pipeline definition cannot be marked with @do_not_convert. See {fn.__name__}")
    function = fn

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Pipeline:
        from dali_lab.pipeline.pipeline import Pipeline

        conditionals = kwargs.get("enable_conditionals", enable_conditionals)
        own = inspect.signature(function).parameters
        for_pipeline, for_function = _sort(function, own, pipeline_kwargs, kwargs)
        if kwargs.get("debug", debug):
            from dali_lab.pipeline.debug import make_debug_pipeline

            return make_debug_pipeline(function, conditionals, args, for_function, for_pipeline)
        pipeline = Pipeline(**for_pipeline)
        define = function
        if conditionals:
            from dali_lab.conditionals import ConditionStack
            from dali_lab.conditionals.rewriting import converted

            pipeline._recorder.conditions = ConditionStack()
            define = converted(function)
        with pipeline:
            result = define(*args, **for_function)
        pipeline.set_outputs(*(result if isinstance(result, tuple) else () if result is None else (result,)))
        return pipeline

    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make


def _sort(
    function: Callable[..., Any], own: Any, decorator: dict[str, Any], call: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sort keyword arguments into those of the pipeline and those of the function."""
    from dali_lab.pipeline.pipeline import Pipeline

    accepted = [name for name in inspect.signature(Pipeline.__init__).parameters if name != "self"]
    for name, parameter in own.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise TypeError(
                f"Using variadic keyword argument `**{name}` in a graph-defining function is not allowed:"
                f" in {function.__name__} it would take the pipeline's arguments"
            )
    for_pipeline, for_function = dict(decorator), {}
    for name, value in call.items():
        if name in own:
            for_function[name] = value
            if name in accepted:
                warnings.warn(
                    f"'{name}' is an argument of {function.__name__}, so the pipeline does not get it", stacklevel=3
                )
        elif name not in ("enable_conditionals", "debug"):
            for_pipeline[name] = value
    for name in for_pipeline:
        if name not in accepted:
            known = [*own, *accepted]
            raise ArgumentTypeError(
                f"neither {function.__name__} nor the pipeline takes it{nearest(name, known)}",
                argument=name,
                origin=user_line(),
            )
    return for_pipeline, for_function


def do_not_convert(func: Any = None) -> Any:
    """Keep a function as it is where conditionals are enabled: its ``if`` is then Python's own.

    For functions that touch no :class:`DataNode`, such as those that make the sources of parallel external sources.
    """
    if func is None:
        return do_not_convert
    if getattr(func, "_is_pipeline_def", False):
        raise ValueError("Pipeline definition cannot be marked with @do_not_convert.")
    func._dali_lab_do_not_convert = True
    return func
