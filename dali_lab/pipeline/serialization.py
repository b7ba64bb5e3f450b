"""Pipelines as files: NVIDIA DALI's serialized form, checkpoints, and a picture of the graph."""

from __future__ import annotations

import dataclasses
import html
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.executor.runner import Runner
from dali_lab.executor.settings import Settings
from dali_lab.graph.graph import Graph, show_graphs_with
from dali_lab.graph.settings import check_settings
from dali_lab.model.errors import DaliLabError, FormatError, GraphError
from dali_lab.schema.registry import find_operator

if TYPE_CHECKING:
    from dali_lab.pipeline.pipeline import Pipeline


def _shown(graph: Graph) -> dict[str, str]:
    from dali_lab.formats.pictures.drawing import mimebundle

    return mimebundle(graph)


show_graphs_with(_shown)


def _shards(graph: Graph) -> tuple[int, int]:
    """Number of shards of the readers, and the one that they read.

    Raises
    ------
    GraphError
        If they differ, or there is no reader.
    """
    found = {
        (int(node.arguments.get("num_shards", 1)), int(node.arguments.get("shard_id", 0)))
        for node in graph.nodes.values()
        if "num_shards" in find_operator(node.op).argument_table
    }
    if len(found) != 1:
        what = "readers of different shards" if found else "no reader that has shards"
        raise GraphError(f"checkpoints of several processes were given, and the pipeline has {what}")
    return found.pop()


def _merged(shards: Sequence[Checkpoint], shard: int, count: int) -> Checkpoint:
    try:
        return type(shards[0]).merged(shards, shard, count)
    except (KeyError, TypeError) as error:
        raise FormatError(f"these checkpoints are not of the processes of one run ({error!r})") from error


class PipelineFiles:
    """The side of :class:`dali_lab.Pipeline` that reads and writes."""

    _settings: Settings
    _seed: int
    _graph: Graph | None
    _runner: Any
    _resharded: bool
    _dali_names: dict[str, str]

    if TYPE_CHECKING:

        @property
        def graph(self) -> Graph: ...
        def _trace(self, define_graph: Callable[[], Any] | None = None) -> None: ...
        def build(self) -> None: ...
        def _built(self) -> Runner: ...

    def serialize(self, define_graph: Callable[[], Any] | None = None, filename: str | None = None) -> bytes:
        """The pipeline in NVIDIA DALI's serialized form.

        Parameters
        ----------
        define_graph
            Defines the outputs, in place of the method of this name.
        filename
            A file to write it to as well.

        Raises
        ------
        ArgumentError
            If `output_dtype`, `output_ndim` or `output_layout` describes more or fewer outputs than there are.
        """
        from dali_lab.formats import disk
        from dali_lab.formats.dali import writer as dali_proto
        from dali_lab.formats.secrets import refuse_secrets

        if define_graph is not None:
            if not callable(define_graph):
                raise TypeError("define_graph must be callable; to write a file, say serialize(filename=...)")
            self._trace(define_graph)
        self._settings.expectations(len(self.graph.outputs))  # what no pipeline can be built of is not written
        refuse_secrets(self.graph)
        data: bytes = dali_proto.dumps(self.graph, self._dali_names)
        if filename is not None:
            disk.write_bytes(filename, data)
        return data

    @classmethod
    def deserialize(
        cls, serialized_pipeline: bytes | None = None, filename: str | None = None, **kwargs: object
    ) -> Pipeline:
        """A pipeline from NVIDIA DALI's serialized form, built.

        Parameters
        ----------
        serialized_pipeline, filename
            Bytes, or a file; one of them.
        **kwargs
            Arguments of :class:`Pipeline`, in place of those that are stored.

        Raises
        ------
        FormatError
            If it cannot be read, is something else or damaged.
        """
        from dali_lab.formats import disk
        from dali_lab.formats.dali import writer as dali_proto
        from dali_lab.pipeline.pipeline import Pipeline

        if (serialized_pipeline is None) == (filename is None):
            message = "serialized_pipeline and filename arguments are mutually exclusive."
            raise ValueError(f"{message} Precisely one of them should be defined.")
        if filename is not None:
            serialized_pipeline = disk.read_bytes(filename)
        assert serialized_pipeline is not None
        # A subclass with a constructor of its own cannot be made from a graph.
        kind: Any = cls if issubclass(cls, Pipeline) and cls.__init__ is Pipeline.__init__ else Pipeline
        try:
            graph, names = dali_proto.read(serialized_pipeline)
        except FormatError as error:
            error.source = filename and os.fspath(filename)
            raise
        pipeline: Pipeline = kind.from_graph(graph, **kwargs)
        pipeline._dali_names = names
        pipeline.build()
        return pipeline

    def deserialize_and_build(self, serialized_pipeline: bytes) -> None:
        """Take the graph from its serialized form, and build; stored arguments count where none were given here."""
        from dali_lab.formats.dali import writer as dali_proto

        if self._runner is not None:
            raise GraphError("the pipeline is built already")
        self._graph, self._dali_names = dali_proto.read(serialized_pipeline)
        stored: Mapping[str, Any] = self._graph.pipeline
        check_settings(stored)
        default = Settings()
        changes = {
            name: stored[name]
            for name in ("batch_size", "num_threads", "device_id", "seed", "prefetch_queue_depth")
            if name in stored and getattr(self._settings, name) == getattr(default, name)
        }
        self._settings = type(default)(**{**vars(self._settings), **changes})
        self._seed = changes.get("seed", self._seed)
        self.build()

    def checkpoint(self, filename: str | None = None) -> bytes:
        """The state of the pipeline, for the argument of the same name of a pipeline with the same graph.

        NVIDIA DALI restores it too, and what NVIDIA DALI wrote is restored here.

        Parameters
        ----------
        filename
            A file to write it to as well.

        Raises
        ------
        GraphError
            If checkpointing was not enabled, or the next batch has failed.
        """
        data = self._get_checkpoint()
        if filename is not None:
            from dali_lab.formats import disk

            disk.write_bytes(filename, data)
        return data

    def _get_checkpoint(self, iterator_data: str = "") -> bytes:
        from dali_lab.formats.dali import checkpoint as dali_checkpoint

        runner = self._built()
        return dali_checkpoint.dumps(runner.checkpoint(iterator_data), runner.graph, self._dali_names)

    def _go_on_from(self, checkpoint: bytes) -> None:
        """Build anew, to go on from a checkpoint; from one that does not fit, nothing changes."""
        with self._gone_on_from(checkpoint):
            pass

    @contextmanager
    def _gone_on_from(self, checkpoint: bytes) -> Iterator[None]:
        """Build anew, to go on from a checkpoint; if this or what is done within fails, nothing changes."""
        before = self._runner, self._settings, self._resharded
        self._runner, self._resharded = None, False
        self._settings = dataclasses.replace(self._settings, checkpoint=checkpoint)
        try:
            self.build()
            yield
        except BaseException:
            if self._runner is not None:
                self._runner.close()
            self._runner, self._settings, self._resharded = before
            raise
        if before[0] is not None:
            before[0].close()

    def _saved(self, graph: Graph) -> Checkpoint | None:
        """The checkpoint to go on from, if one was given."""
        settings = self._settings
        if settings.checkpoint is None:
            return None
        from dali_lab.formats.dali import checkpoint as dali_checkpoint

        assert settings.batch_size is not None
        given = settings.checkpoint
        if not isinstance(given, tuple):
            return dali_checkpoint.loads(given, graph, self._dali_names, settings.batch_size)
        shards = [dali_checkpoint.loads(data, graph, self._dali_names, settings.batch_size) for data in given]
        count, shard = _shards(graph)
        if count == len(shards):
            return shards[shard]
        self._resharded = True
        return _merged(shards, shard, count)

    def save_graph_to_dot_file(
        self, filename: str, *, show_tensors: bool = False, show_ids: bool | None = None, use_colors: bool = False
    ) -> None:
        """Write the graph as a Graphviz file.

        Parameters
        ----------
        show_tensors
            Show what travels between the nodes as nodes of their own.
        use_colors
            Tell CPU and GPU apart by colour.
        show_ids
            Deprecated, without effect.
        """
        from dali_lab.formats.pictures import dot

        if show_ids is not None:
            warnings.warn("'show_ids' no longer has any effect", DeprecationWarning, stacklevel=2)
        dot.dump(self.graph, filename, show_tensors=show_tensors, use_colors=use_colors)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Representations for notebooks: a picture of the graph, once it is defined."""
        try:
            bundle = self.graph._repr_mimebundle_()
        except (DaliLabError, NotImplementedError, TypeError, ValueError):
            return {"text/plain": repr(self)}
        return {**bundle, "text/plain": f"Pipeline: {bundle['text/plain']}"}

    def _repr_html_(self) -> str:
        """The same for programs that ask for HTML, such as Panel."""
        bundle = self._repr_mimebundle_()
        return bundle.get("text/html") or html.escape(bundle["text/plain"])
