"""Work of the tasks of Ray, in processes on the cluster's machines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import ray
import ray.data

from dali_lab.interop.ray.engines import KEPT, POSITION, Run, engine
from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.rows import RowEngine
from dali_lab.interop.ray.stage import run_stage
from dali_lab.interop.ray.tables import Samples, block, bytes_of

if TYPE_CHECKING:
    from pyarrow import Table


def read(
    key: str, packed: object, runs: Sequence[Run], threads: int, positions: bool, most: int | None
) -> Iterator[Table]:
    """Compute batches as blocks.

    Parameters
    ----------
    key
        Name of the recipe in this process.
    packed
        Where the recipe is in the object store.
    runs
        The batches.
    threads
        CPU threads.
    positions
        Whether blocks have the column with the number of the batch.
    most
        Bytes after which a block is given; `None` for one block with all batches.
    """
    found = engine(key, threads, lambda: unpacked(ray.get(packed)))
    with found.lock:
        parts: list[dict[str, Samples]] = []
        size = 0
        for run in runs:
            for part in found.batches(run):
                if not positions:
                    part.pop(POSITION)
                parts.append(part)
                size += sum(map(bytes_of, part.values()))
                if most is not None and size > most:
                    yield block(parts)
                    parts, size = [], 0
        if parts:
            yield block(parts)


def make_ready(key: str, packed: object, threads: int) -> None:
    """Build the pipeline of a recipe in this process."""
    engine(key, threads, lambda: unpacked(ray.get(packed)))


def unpacked(data: bytes) -> Recipe:
    """The recipe that a driver packed."""
    os.environ.setdefault("DALI_LAB_COMPILE", "at-once")  # a task is over before another process has compiled
    recipe = ray.cloudpickle.loads(data)
    assert isinstance(recipe, Recipe)
    return recipe


Work = tuple[str, bytes, Mapping[str, str], int, str | None, int | None, bool]
"""A stage: its key, recipe, inputs, threads, the column of places, the epoch, and whether other columns are kept."""

_row_engines: dict[str, RowEngine] = {}


def run_rows(work: Work, batch: Mapping[str, Samples]) -> dict[str, Samples]:
    """Run a stage over a batch of rows, with an engine that this process keeps."""
    key, packed, inputs, threads, position, epoch, keep = work
    if key not in _row_engines:
        while len(_row_engines) >= KEPT:
            _row_engines.pop(next(iter(_row_engines)))
        _row_engines[key] = RowEngine(unpacked(packed), inputs, threads)
    if epoch is None:
        epoch = int(getattr(ray.data.DataContext.get_current(), "_execution_idx", 0))
    return run_stage(_row_engines[key], batch, position, epoch, keep)
