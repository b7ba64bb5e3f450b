"""The record of one batch on its way through the stages."""

from __future__ import annotations

import numpy as np

from dali_lab.executor.batch_run import BatchRun
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from tests.unit.executor.stages import SOURCE, numbers

OUT = Edge("last")


def test_an_edge_lacks_samples_that_failed_or_all_before_it_is_there() -> None:
    run = BatchRun(0, 4, [OUT], known={SOURCE: numbers(3)}, missing={SOURCE: [2]}, keep_going=True)
    assert [run.lacks(SOURCE, *span) for span in ((0, 2), (2, 3), (0, 4), (3, 4))] == [False, True, True, False]
    assert run.lacks(OUT, 0, 4)
    complete = BatchRun(0, 4, [OUT], known={SOURCE: numbers(4)})
    assert complete.lacks(SOURCE, 0, 4) is False


def test_the_memory_of_an_output_is_that_of_its_chunks_and_its_largest_sample() -> None:
    run = BatchRun(0, 4, [OUT])
    for lengths in ((3, 5), (2, 4), ()):
        run.count_memory(OUT, Batch.of([np.zeros(length, np.int32) for length in lengths], ""))
    assert run.memory[OUT] == (4 * (3 + 5 + 2 + 4), 4 * 5)
