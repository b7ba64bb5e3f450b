"""The rest of a graph that was cut, run where the batches are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.rows import ROW, RowEngine
from dali_lab.interop.ray.tables import Samples
from dali_lab.model.errors import ArgumentError

_NUMBERS = "[]"
"""End of the name of a column with numbers in arrays of one."""


class Rest:
    """The rest of a graph that was cut, for the trainer.

    Parameters
    ----------
    recipe
        The nodes behind the cut.
    inputs
        Mapping[str, Samples] that they read; all others are passed on.
    threads
        CPU threads.
    """

    def __init__(self, recipe: Recipe, inputs: Sequence[str], threads: int | None = None) -> None:
        self.recipe = recipe
        self.inputs = tuple(inputs)
        self._threads = threads
        self._engine: RowEngine | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_engine": None}

    def __call__(self, batch: Mapping[str, Samples]) -> dict[str, Samples]:
        """The outputs of the whole graph for rows that the first part has made."""
        if self._engine is None:
            self._engine = RowEngine(self.recipe, {name: name for name in self.inputs}, self._threads)
        if ROW not in batch:
            raise ArgumentError(f"the rows have no column '{ROW}', which the first part made", argument="batch")
        columns = {name: values for name, values in batch.items() if name != ROW}
        for name in self.inputs:
            if name + _NUMBERS in columns:
                columns[name] = columns.pop(name + _NUMBERS)[:, 0]
        found, left_out = self._engine.run(columns, batch[ROW].astype(np.int64))
        return {**passed_on(columns, self.inputs, left_out), **found}


def in_rows(columns: Mapping[str, Samples], names: Sequence[str]) -> dict[str, Samples]:
    """Columns that a rest reads, for somebody's dataset: numbers as arrays of one, which Python keeps the type of."""
    numbers = {name for name in names if columns[name].ndim == 1 and columns[name].dtype != object}
    return {
        name + _NUMBERS if name in numbers else name: values[:, None] if name in numbers else values
        for name, values in columns.items()
    }


def passed_on(batch: Mapping[str, Samples], used: Sequence[str], left_out: Sequence[int]) -> dict[str, Samples]:
    """The columns that are no inputs, without the rows that were left out."""
    others = {name: values for name, values in batch.items() if name not in used}
    return {name: np.delete(values, left_out, axis=0) for name, values in others.items()} if left_out else others
