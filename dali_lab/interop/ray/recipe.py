"""Recipe of a pipeline: its graph, settings and seed as a value that travels to other machines."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dali_lab.executor.positions import Positions
from dali_lab.executor.settings import Settings
from dali_lab.formats.dali import checkpoint as serialized
from dali_lab.formats.paths import with_paths
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.seeds import graph_seeds
from dali_lab.graph.switches import complete
from dali_lab.graph.verification import verify
from dali_lab.io.locations import canonical, is_remote
from dali_lab.io.roots import Limits, limits_here
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator

if TYPE_CHECKING:
    from dali_lab.executor.checkpoint import Checkpoint

_NOT_CARRIED = ("checkpoint", "stream_policy", "concurrency", "num_threads", "seed", "bytes_per_sample")


@dataclass(frozen=True)
class Recipe:
    """The settings that make the same pipeline again in another process.

    Attributes
    ----------
    graph
        The graph, verified.
    settings
        Arguments of :class:`dali_lab.Pipeline` that differ from their defaults.
    seed
        The pipeline's seed, chosen where none was given.
    columns
        Name of each output.
    names
        Name of each node in NVIDIA DALI's form, where it differs.
    limits
        What may be reached where the recipe was made, and so wherever it is used.
    crossing
        Columns that the rest of a graph reads that was cut; rows then carry the number by which they draw.
    """

    graph: Graph
    settings: Mapping[str, object]
    seed: int
    columns: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None
    crossing: tuple[str, ...] = ()

    @property
    def batch_size(self) -> int:
        """Samples in a batch."""
        size = self.settings["batch_size"]
        assert isinstance(size, int)
        return size

    def pipeline(self, threads: int | None = None, **changes: object) -> Pipeline:
        """The pipeline, on this machine."""
        given = {**self.settings, "seed": self.seed, **changes}
        if threads is not None:
            given["num_threads"] = threads
        return Pipeline.from_graph(self.graph.replaced(pipeline={}), **given)

    def positions(self, epoch: int | None = None) -> Positions:
        """The checkpoints before its batches; `epoch` is the number of batches where sources end it."""
        return Positions(self.graph, self._made(), graph_seeds(self.graph, self.seed), epoch)

    def checkpoint(self, position: Checkpoint) -> bytes:
        """A position as the bytes that ``Pipeline(checkpoint=...)`` takes."""
        return serialized.dumps(position, self.graph, dict(self.names))

    def _made(self) -> Settings:
        return self.pipeline()._settings


def recipe_of(pipe: object, columns: Sequence[str] | None = None, **settings: object) -> Recipe:
    """The recipe of a pipeline, a graph, or a function that is decorated with ``pipeline_def``.

    Parameters
    ----------
    pipe
        A pipeline, built or not; a graph; a function decorated with ``pipeline_def`` that needs no arguments.
    columns
        Name of each output; by default :func:`column_names`.
    **settings
        Arguments of :class:`dali_lab.Pipeline`, in place of the pipeline's own.

    Raises
    ------
    ArgumentTypeError
        If `pipe` is something else.
    ArgumentError
        If there are more or fewer `columns` than outputs, or two have the same name.
    GraphError
        If the graph is not complete.
    """
    pipeline = as_pipeline(pipe)
    graph = with_paths(complete(pipeline.graph), _absolute)
    given = {**_own(pipeline._settings), **settings}
    if given.get("batch_size") is None:
        raise ArgumentError("must be given", argument="batch_size")
    verify(graph)
    names = tuple(columns) if columns is not None else column_names(graph)
    if len(names) != len(graph.outputs):
        raise ArgumentError(
            f"has {len(names)} names; the pipeline has {len(graph.outputs)} outputs", argument="columns"
        )
    if len(set(names)) != len(names):
        raise ArgumentError(f"the names must differ, got {list(names)}", argument="columns")
    return Recipe(graph, given, pipeline._seed, names, dict(pipeline._dali_names), limits_here())


def as_pipeline(pipe: object) -> Pipeline:
    """A pipeline from whatever stands for one.

    Raises
    ------
    ArgumentTypeError
        If nothing does.
    """
    if isinstance(pipe, Pipeline):
        return pipe
    if isinstance(pipe, Graph):
        return Pipeline.from_graph(pipe)
    if callable(pipe) and getattr(pipe, "_is_pipeline_def", False):
        made: Pipeline = pipe()
        return made
    raise ArgumentTypeError(
        f"takes a pipeline, a graph, or a function decorated with pipeline_def, not {type(pipe).__name__}",
        argument="pipe",
    )


def _absolute(path: str) -> str:
    """A path that does not depend on the working folder, which is another one in the processes of a cluster."""
    if not path or path.startswith("$") or is_remote(path) or canonical(path) != path:
        return path
    return os.path.abspath(path)


def _own(settings: Settings) -> dict[str, object]:
    """The settings that differ from their defaults, as arguments of a pipeline."""
    default = Settings()
    found = {entry.name: getattr(settings, entry.name) for entry in dataclasses.fields(settings)}
    return {
        name: value for name, value in found.items() if name not in _NOT_CARRIED and value != getattr(default, name)
    }


def column_names(graph: Graph) -> tuple[str, ...]:
    """A name for each output: the node's, or for operators with several outputs that of the output."""
    names: list[str] = []
    for edge in graph.outputs:
        name = _name(graph, edge)
        if name in names:
            name = f"{edge.node}_{name}" if name != edge.node else f"{name}_{len(names)}"
        names.append(name)
    return tuple(names)


def _name(graph: Graph, edge: Edge) -> str:
    node = graph.nodes[edge.node]
    outputs = find_operator(node.op).present_outputs(node.arguments)
    if len(outputs) > 1 and edge.output < len(outputs):
        return outputs[edge.output].name
    return f"{edge.node}_{edge.output}" if edge.output else edge.node
