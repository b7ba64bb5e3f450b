"""Failures that end a run: wrong arguments, functions that always raise, too many bad samples, no good one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import fn
from dali_lab.executor.bad_samples import TooManyBadSamples
from dali_lab.model.errors import DaliLabError
from tests.unit.pipeline.bad_samples.cases import (
    BATCHES,
    PLAIN,
    SIZE,
    TOTAL,
    Case,
    assert_same,
    built,
    damaged,
    gone,
    good_files,
    run,
)


@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("depth", [1, 3])
def test_first_batches_without_a_good_sample_take_one_of_a_batch_behind(policy: str, depth: int, folder: Path) -> None:
    last = 2 * SIZE + 1  # of the third batch the first sample is bad, too
    good, files = damaged(PLAIN, folder, range(last))
    order = [TOTAL - 1] * (2 * SIZE) + [2 * SIZE + 1, *range(2 * SIZE + 1, TOTAL)]
    wanted = run(built(PLAIN, [good[i] for i in order], order), BATCHES)
    settings = {"on_error": policy, "enable_checkpointing": True, "prefetch_queue_depth": depth}
    pipeline = built(PLAIN, files, range(TOTAL), **settings)
    found = run(pipeline, 1)
    again = built(PLAIN, files, range(TOTAL), **settings, checkpoint=pipeline.checkpoint())
    rest = run(pipeline, 2)
    assert_same(run(again, 2), rest)
    if policy == "replace":
        assert_same(found + rest, wanted)
    else:
        assert_same(found + rest, [[], [], [each for place, each in enumerate(wanted[2]) if place % SIZE]])


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_a_data_set_without_a_good_sample_is_an_error(policy: str, folder: Path) -> None:
    _, files = damaged(PLAIN, folder, range(TOTAL))
    pipeline = built(PLAIN, files, range(TOTAL), on_error=policy)
    with pytest.raises(DaliLabError, match="sample 0: cannot decode the picture"):
        pipeline.run()


def test_a_batch_of_bad_samples_is_filled_with_one_of_an_earlier_batch_or_empty(folder: Path) -> None:
    good, files = damaged(PLAIN, folder, range(SIZE, 2 * SIZE))
    order = [index if index < SIZE or index >= 2 * SIZE else SIZE - 1 for index in range(TOTAL)]
    wanted = run(built(PLAIN, [good[i] for i in order], order), BATCHES)
    assert_same(run(built(PLAIN, files, range(TOTAL), on_error="replace"), BATCHES), wanted)
    skipping = built(PLAIN, files, range(TOTAL), on_error="skip")
    assert_same(run(skipping, BATCHES), [wanted[0], [], wanted[2]])


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_a_function_that_raises_for_all_samples_ends_the_run_at_once(policy: str, folder: Path) -> None:
    def fails(data: np.ndarray) -> np.ndarray:
        raise TypeError("no such thing")

    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
        return fn.python_function(encoded, function=fails), labels

    files = good_files(".jpg", folder)
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error=policy)
    with pytest.raises(DaliLabError, match="no such thing"):
        pipeline.run()


def test_a_wrong_argument_ends_the_run_at_once_also_after_good_batches(folder: Path) -> None:
    calls = []

    def once(data: np.ndarray) -> np.ndarray:
        calls.append(len(data))
        if len(calls) > SIZE:
            raise ValueError("from now on")
        return data

    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
        return fn.python_function(encoded, function=once), labels

    files = good_files(".jpg", folder)
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace")
    run(pipeline, 1)
    with pytest.raises(DaliLabError, match="from now on"):
        pipeline.run()


def test_too_large_a_share_of_bad_samples_ends_the_run_naming_the_first(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    pipeline = built(PLAIN, files, range(TOTAL), on_error="replace", max_error_rate=0.002)
    run(pipeline, 1)
    with pytest.raises(TooManyBadSamples, match=r"3 of the last 12 samples.*\n.*truncated(.|\n)*01\.jpg(.|\n)*07\.jpg"):
        pipeline.run()
