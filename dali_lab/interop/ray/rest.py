"""The rest of a graph that was cut, run where the batches are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dali_lab.interop.ray.recipe import Recipe
from dali_lab.interop.ray.rows import RowEngine, places_of
from dali_lab.interop.ray.tables import Samples


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

    def __call__(self, batch: Mapping[str, Samples], number: int) -> dict[str, Samples]:
        """The outputs of the whole graph for the batch with this number."""
        if self._engine is None:
            self._engine = RowEngine(self.recipe, {name: name for name in self.inputs}, self._threads)
        size = self.recipe.batch_size
        rows = len(batch[self.inputs[0]])
        found, left_out = self._engine.run(batch, places_of(number * size + np.arange(rows), size))
        return {**passed_on(batch, self.inputs, left_out), **found}


def passed_on(batch: Mapping[str, Samples], used: Sequence[str], left_out: Sequence[int]) -> dict[str, Samples]:
    """The columns that are no inputs, without the rows that were left out."""
    others = {name: values for name, values in batch.items() if name not in used}
    return {name: np.delete(values, left_out, axis=0) for name, values in others.items()} if left_out else others
