"""Graphs over rows that come from outside: fed columns, with random numbers by the place of each row."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.tables import Samples, samples_of
from dali_lab.kernels.streams import row_behind
from dali_lab.model.errors import ArgumentError, nearest

MOST_ROWS = 1 << 16
"""Rows of a batch that Ray Data hands over; the graph's own batch size only counts for random numbers."""

ROW = "dali_lab_row"
"""Column with the number by which a row draws, for the rest of a graph that was cut."""

_EPOCH_SHIFT = 52


class RowEngine:
    """Runs a graph with fed inputs over batches of columns.

    A row at place `p` of the epoch draws the numbers that ``Pipeline.run`` gives to its `p`-th sample, whatever batch
    it comes in.

    Parameters
    ----------
    recipe
        The graph.
    inputs
        Column of each fed node, by its name.
    threads
        CPU threads.
    """

    def __init__(self, recipe: Recipe, inputs: Mapping[str, str], threads: int | None = None) -> None:
        self.recipe = recipe
        self.inputs = dict(inputs)
        self._pipeline = recipe.pipeline(threads, batch_size=MOST_ROWS, prefetch_queue_depth=1)
        self._pipeline.build()
        self._lock = threading.Lock()

    def run(
        self, columns: Mapping[str, Samples], places: npt.NDArray[np.int64]
    ) -> tuple[dict[str, Samples], list[int]]:
        """The outputs for a batch of rows, and the indices of rows that were left out as bad.

        Parameters
        ----------
        columns
            At least those that are inputs.
        places
            ``int64[rows]``, from :func:`places_of` or :func:`hashed`.
        """
        with self._lock:
            for node, column in self.inputs.items():
                if column not in columns:
                    raise ArgumentError(
                        f"the rows have no column '{column}' for '{node}'{nearest(column, columns)}", argument="inputs"
                    )
                self._pipeline.feed_input(node, fed(columns[column]))
            runner = self._pipeline._built()
            runner.schedule(rows=places)
            outputs = self._pipeline.share_outputs()
            return (
                {name: samples_of(output) for name, output in zip(self.recipe.columns, outputs, strict=True)},
                list(runner.left_out),
            )


def places_of(numbers: npt.ArrayLike, batch_size: int, epoch: int = 0) -> npt.NDArray[np.int64]:
    """Places in an epoch as the rows by which samples draw: those of ``Pipeline.run`` with this batch size."""
    places = np.asarray(numbers, np.int64)
    before = places // batch_size * batch_size + (epoch << _EPOCH_SHIFT)
    return row_behind(before, places % batch_size)


def hashed(values: Samples, epoch: int = 0) -> npt.NDArray[np.int64]:
    """Places from the content of rows, where nothing says which place they have."""
    digests = (hashlib.blake2b(_bytes(value), digest_size=5).digest() for value in values)
    rows = np.fromiter((int.from_bytes(digest, "little") for digest in digests), np.int64, len(values))
    return row_behind(np.full(len(rows), epoch << _EPOCH_SHIFT, np.int64), rows)


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return np.ascontiguousarray(value).tobytes()


def fed(values: Samples) -> object:
    """A column as an input takes it: bytes and texts become one-dimensional UINT8."""
    if values.dtype != object and values.dtype.kind not in "SU":
        return values
    return [np.frombuffer(_bytes(v), np.uint8) if isinstance(v, (bytes, str)) else np.asarray(v) for v in values]
