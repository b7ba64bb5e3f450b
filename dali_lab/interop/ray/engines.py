"""Pipelines of a process of Ray: made once, kept from task to task and from epoch to epoch."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.rows import ROW, places_of
from dali_lab.interop.ray.tables import Samples, samples_of
from dali_lab.model.errors import FormatError
from dali_lab.pipeline.pipeline import Pipeline

KEPT = 4
"""Pipelines that a process keeps: those of a training and of a validation dataset, and of stages."""

POSITION = "dali_lab_batch"
"""Column with the number of the batch in the run, for iterators that put batches together again."""

logger = logging.getLogger("dali_lab.ray")

Run = tuple[int, bytes, Sequence[int]]
"""Batches that follow each other: the number of the first, the checkpoint before it, and the rows to keep of each."""


class Engine:
    """A pipeline that computes any batches of its run."""

    def __init__(self, recipe: Recipe, threads: int) -> None:
        self.recipe = recipe
        self.pipeline: Pipeline = recipe.pipeline(threads)
        with self._limits():
            self.pipeline.build()
        self.lock = threading.Lock()

    def batches(self, run: Run) -> Iterator[dict[str, Samples]]:
        """Batches that follow each other, with the columns of the recipe and :data:`POSITION`."""
        with self._limits():
            yield from self._batches(run)

    def _batches(self, run: Run) -> Iterator[dict[str, Samples]]:
        first, checkpoint, wanted = run
        runner = self.pipeline._built()
        try:
            runner.seek(Checkpoint.loads(checkpoint))
        except FormatError as error:
            raise FormatError(f"the data have changed since dataset() was called ({error.message})") from None
        started = 0
        for index, kept in enumerate(wanted):
            while started < len(wanted) and runner.in_flight < self.pipeline._settings.ahead:
                if not runner.schedule():
                    break
                started += 1
            if not runner.in_flight:
                return  # a source ended before the epoch that was asked for
            outputs = self.pipeline.share_outputs()
            samples = [samples_of(output) for output in outputs]
            rows = np.delete(np.arange(self.recipe.batch_size), runner.left_out)
            rows = rows[rows < kept][: len(samples[0]) if samples else None]
            part = {name: values[: len(rows)] for name, values in zip(self.recipe.columns, samples, strict=True)}
            part[POSITION] = np.full(len(rows), first + index, np.int64)
            if self.recipe.crossing:
                size = self.recipe.batch_size
                part[ROW] = places_of((first + index) * size + rows, size)
            self._report()
            yield part

    def _limits(self) -> AbstractContextManager[None]:
        limits = self.recipe.limits
        return nullcontext() if limits is None else limits.held()

    def _report(self) -> None:
        """Log the bad samples of the last batch, which the driver would not learn of otherwise."""
        log = self.pipeline.bad_samples
        for record in log[self._told :]:
            logger.warning("bad sample: %s", record)
        self._told = len(log)

    _told = 0


_engines: OrderedDict[tuple[str, int], Engine] = OrderedDict()
_lock = threading.Lock()


def engine(key: str, threads: int, recipe: Callable[[], Recipe]) -> Engine:
    """The engine of a recipe in this process; the least recently used ones are closed.

    Parameters
    ----------
    key
        Name of the recipe, the same in all processes.
    threads
        CPU threads.
    recipe
        Fetches the recipe where the process does not know it yet.
    """
    with _lock:
        found = _engines.get((key, threads))
        if found is None:
            found = Engine(recipe(), threads)
            _engines[key, threads] = found
        _engines.move_to_end((key, threads))
        while len(_engines) > KEPT:
            _engines.popitem(last=False)[1].pipeline.close()
        return found
