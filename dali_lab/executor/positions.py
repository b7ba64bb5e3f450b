"""Positions of a run: the checkpoint before any of its batches, found without computing a batch."""

from __future__ import annotations

from collections.abc import Mapping

from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.executor.plan import make_plan
from dali_lab.executor.settings import Settings
from dali_lab.executor.sources.opening import open_sources
from dali_lab.graph.graph import Graph
from dali_lab.graph.passes import optimized


class Positions:
    """Finds the checkpoint before each batch of a run, by asking the sources alone.

    Random numbers are functions of the number of samples before a batch, so the state of the sources is all that has
    to be found out. Nodes in a branch of a condition are an exception: ``Pipeline.run`` counts the samples that took
    the branch, which depends on data; here they count whole batches.

    Parameters
    ----------
    graph
        A verified graph.
    settings
        The pipeline's settings.
    seeds
        Seed of each node that draws random numbers.
    epoch
        Batches in an epoch of sources that end, such as external sources.

    Attributes
    ----------
    meta
        ``Pipeline.reader_meta`` of each reader.

    Raises
    ------
    DaliLabError
        If a source does not find its data.
    """

    def __init__(self, graph: Graph, settings: Settings, seeds: Mapping[str, int], epoch: int | None = None) -> None:
        assert settings.batch_size is not None
        self._size = settings.batch_size
        self._settings = settings
        self._seeds = dict(seeds)
        self._epoch = epoch
        self._plan = make_plan(optimized(graph) if settings.optimize else graph)
        self._open()
        found = {name: source.meta() for name, source in self._sources.items()}
        self.meta = {name: dict(meta) for name, meta in found.items() if meta is not None}

    def _open(self) -> None:
        self._at = 0
        self._sources = open_sources(
            self._plan.sources,
            self._seeds,
            checkpointing=bool(self._settings.enable_checkpointing),
            device=None,
            workers=None,
        )

    @property
    def endless(self) -> bool:
        """Whether no source ends an epoch."""
        return not any(source.ends for source in self._sources.values())

    def before(self, batch: int) -> Checkpoint:
        """The checkpoint from which a run goes on with this batch, counted from its beginning.

        Sources go forward only, so asking in ascending order is fast.

        Raises
        ------
        OperatorError
            If a source cannot skip batches.
        """
        if batch < self._at:
            self._open()
        length = self._epoch if not self.endless else None
        for source in self._sources.values():
            skipped = batch - self._at
            if source.ends and length:
                skipped = batch % length if batch // length > self._at // length else skipped
                for _ in range(batch // length - self._at // length):
                    source.reset()
            source.skip_batches(skipped, self._size)
        self._at = batch
        epoch, consumed = divmod(batch, length) if length else (0, batch)
        states = {name: source.state() for name, source in self._sources.items()}
        return Checkpoint(
            operators=self._plan.operators_with_state(self._seeds),
            seeds=dict(self._seeds),
            drawn={step.node.id: batch * self._size for step in self._plan.steps()} if batch else {},
            sources={name: state for name, state in states.items() if state is not None},
            iteration=batch,
            consumed=consumed,
            epoch=epoch,
        )

    def close(self) -> None:
        """Close the sources."""
        for source in self._sources.values():
            source.close()
        self._plan.close()
