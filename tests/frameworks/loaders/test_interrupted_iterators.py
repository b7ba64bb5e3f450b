"""Ctrl-C while an iterator waits for a batch: the next call goes on with that batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.plugin.pytorch import DALIGenericIterator
from tests.unit.pipeline.test_interrupted_runs import _counting, _interrupt_in, _wait_for_file, heard

__all__ = ["heard"]  # a fixture


def test_iterators_over_several_pipelines_stay_in_step(tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    held = _counting(lambda index: _wait_for_file(go_on) if index == 1 else None)
    with pytest.warns(
        UserWarning,
        match=r"Please set `reader_name` .* whenever possible\. This may lead, in some situations, to missing",
    ):
        iterator = DALIGenericIterator([_counting(), held], ["x", "y"], size=1000)
    batches = [next(iterator)]
    _interrupt_in("take", lambda: len(iterator._taken) == 1)
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    go_on.touch()
    batches += [next(iterator) for _ in range(3)]
    assert [[int(row["x"][0]) for row in batch] for batch in batches] == [[index, index] for index in range(4)]


@pytest.mark.parametrize("pipelines", [1, 2])
def test_an_interrupted_source_loses_no_batch_of_an_iterator(pipelines: int) -> None:
    interrupted: list[int] = []

    def source(index: int) -> np.ndarray:
        if index == 3 and not interrupted:
            interrupted.append(index)
            raise KeyboardInterrupt
        return np.full((2, 1), index)

    def make(source: Callable[[int], np.ndarray]) -> Pipeline:
        pipeline = Pipeline(2, 1, None)
        with pipeline:
            pipeline.set_outputs(fn.external_source(source))
        return pipeline

    others = [make(lambda index: np.full((2, 1), index)) for _ in range(pipelines - 1)]
    with pytest.warns(UserWarning, match="Please set `reader_name`"):
        iterator = DALIGenericIterator([*others, make(source)], ["x"], size=12 * pipelines)
    batches: list[list[int]] = []
    while len(batches) < 6:
        try:
            batches.append([int(row["x"][0]) for row in next(iterator)])
        except KeyboardInterrupt:
            continue
    assert interrupted and batches == [[index] * pipelines for index in range(6)]
    with pytest.raises(StopIteration):
        next(iterator)
