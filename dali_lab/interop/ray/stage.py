"""A graph as a stage of somebody's dataset: a callable class for ``Dataset.map_batches``."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dali_lab.graph.graph import Graph
from dali_lab.interop.ray.choice import AUTO
from dali_lab.interop.ray.cut import cut
from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.recipe import recipe_of
from dali_lab.interop.ray.rest import Rest, in_rows, passed_on
from dali_lab.interop.ray.rows import ROW, RowEngine, hashed, places_of
from dali_lab.interop.ray.tables import Samples
from dali_lab.model.errors import ArgumentError, nearest
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator

Columns = Mapping[str, Samples]


class Stage(Protocol):
    """A class of stages, as :func:`stage` makes them.

    Attributes
    ----------
    rest
        The rest of a graph that was cut: a function of the columns of rows, for ``iterator(rest=...)`` or to be called
        with batches of any size; `None` without a cut.
    function
        The same stage as a function, for ``map_batches`` with tasks: their processes, unlike actors, live on between
        epochs, with all that they have compiled and opened.
    """

    rest: Rest | None
    function: Callable[[Columns], Columns]

    def __call__(self, batch: Columns) -> Columns: ...


def stage(
    graph: object,
    *,
    inputs: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    position: str | None = None,
    epoch: int | None = None,
    until: str | Sequence[str] | None = None,
    keep: bool = True,
    threads: int = 1,
    **settings: object,
) -> type[Stage]:
    """A callable class that runs a graph over the rows of a dataset, for ``Dataset.map_batches``.

    The graph's external sources without a source of their own are bound to columns. A row draws random numbers by seed,
    epoch and its place, so the number of actors and the order of arrival change nothing.

    Parameters
    ----------
    graph
        A graph, a pipeline, a function decorated with ``pipeline_def``, or a plain function of nodes whose parameters
        are columns and that returns the outputs.
    inputs
        Column of each external source, by its name; by default the column of the same name.
    columns
        Names of the outputs' columns.
    position
        Column with the place of a row in the epoch (whole numbers: row `p` draws like the `p`-th sample of
        ``Pipeline.run``), or with anything that tells rows apart, such as a path. By default the content of the first
        input.
    epoch
        The epoch, for random numbers; by default the number of executions of the dataset so far.
    until
        The last node to run here, see :attr:`Stage.rest`.
    keep
        Pass on the columns that are no inputs.
    threads
        CPU threads; give ``map_batches`` the same number as ``num_cpus``.
    **settings
        Arguments of :class:`dali_lab.Pipeline`, such as ``seed`` and ``on_error``.

    Returns
    -------
    type
        For ``dataset.map_batches(stage(...), concurrency=4)``, or ``dataset.map_batches(stage(...).function)``.

    Raises
    ------
    ArgumentError
        If the graph has no fed input, or a name is unknown.
    """
    seed = settings.pop("seed", None)
    if isinstance(graph, (Graph, Pipeline)) or getattr(graph, "_is_pipeline_def", False):
        recipe = recipe_of(graph, columns, **settings)
    elif callable(graph):
        recipe = recipe_of(_pipeline_of(graph, settings, seed), columns)
    else:
        recipe = recipe_of(graph, columns)
    if isinstance(seed, int):
        recipe = replace(recipe, seed=seed)
    bound = _bound(recipe.graph, inputs)
    rest = None
    if until == AUTO and AUTO not in recipe.graph.nodes:
        raise ArgumentError(
            "must name a node: a stage gets its rows later, so nothing can be measured here", argument="until"
        )
    if until is not None:
        parts = cut(recipe, until)
        recipe, rest = parts.first, Rest(parts.rest, parts.inputs)
    import ray.cloudpickle

    packed = ray.cloudpickle.dumps(recipe)
    key = hashlib.blake2b(packed + repr((bound, threads)).encode(), digest_size=16).hexdigest()
    work = (key, packed, bound, threads, position, epoch, keep)

    run_rows = on_a_node("work", "run_rows")

    def function(batch: Columns) -> Columns:
        found: Columns = run_rows(work, batch)
        return found

    def call(self: object, batch: Columns) -> Columns:
        return function(batch)

    made: Any = type("DALILab", (), {"__call__": call, "__doc__": "A graph of DALI Lab.", "rest": rest})
    made.function = staticmethod(function)
    return made  # type: ignore[no-any-return]


def _pipeline_of(function: Callable[..., Any], settings: Mapping[str, object], seed: object) -> Pipeline:
    from dali_lab import fn

    pipeline = Pipeline(**{"batch_size": 64, "seed": seed, **settings})  # type: ignore[arg-type]
    with pipeline:
        found = function(*(fn.external_source(name=name) for name in inspect.signature(function).parameters))
        pipeline.set_outputs(*(found if isinstance(found, tuple) else (found,)))
    return pipeline


def _bound(graph: Graph, inputs: Mapping[str, str] | None) -> dict[str, str]:
    """The column of each fed node."""
    nodes = [
        name
        for name, node in graph.nodes.items()
        if find_operator(node.op).fed and node.arguments.get("source") is None
    ]
    if not nodes:
        raise ArgumentError("has no external source to bind to a column", argument="graph")
    for name in inputs or {}:
        if name not in nodes:
            raise ArgumentError(f"there is no fed input '{name}'{nearest(name, nodes)}", argument="inputs")
    return {name: (inputs or {}).get(name, name) for name in nodes}


def run_stage(engine: RowEngine, batch: Columns, position: str | None, epoch: int, keep: bool) -> dict[str, Samples]:
    """Run a stage's graph over a batch of rows."""
    if not isinstance(batch, Mapping):
        kind = f"{type(batch).__module__.partition('.')[0]}.{type(batch).__name__}"
        raise ArgumentError(f"takes columns of NumPy arrays, not a {kind}: map_batches(..., batch_format='numpy')")
    column = position if position is not None else next(iter(engine.inputs.values()))
    if column not in batch:
        raise ArgumentError(f"the rows have no column '{column}'{nearest(column, batch)}", argument="position")
    values = batch[column]
    counted = position is not None and values.dtype.kind in "iu"
    places = places_of(values, engine.recipe.batch_size, epoch) if counted else hashed(values, epoch)
    found, left_out = engine.run(batch, places)
    if engine.recipe.crossing:
        found = {**in_rows(found, engine.recipe.crossing), ROW: np.delete(places, left_out)}
    return {**(passed_on(batch, list(engine.inputs.values()), left_out) if keep else {}), **found}
