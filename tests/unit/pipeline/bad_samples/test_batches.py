"""A bad sample is replaced or left out: batches are those of a run that had the replacements from the start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import fn, pipeline_def
from dali_lab.executor.chunks import ChunkRunner
from dali_lab.model.errors import DaliLabError
from tests.unit.pipeline.bad_samples.cases import (
    BAD,
    BATCHES,
    CASES,
    PLAIN,
    SIZE,
    TOTAL,
    Case,
    assert_same,
    built,
    cut_short,
    damaged,
    donors,
    expected,
    gone,
    good_files,
    no_header,
    run,
    trained,
    turned,
)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_replacement_gives_the_batch_of_a_run_that_had_it_from_the_start(
    case: Case, threads: int, folder: Path
) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL), num_threads=threads, on_error="replace")
    assert_same(run(pipeline, BATCHES), expected(case, folder))
    assert [record.iteration * SIZE + record.sample for record in pipeline.bad_samples] == list(BAD)
    for record in pipeline.bad_samples:
        index = record.iteration * SIZE + record.sample
        assert record.replacement_iteration == record.iteration
        assert record.replacement == donors(BAD)[index] % SIZE
        assert record.file is None or Path(record.file).stem == f"{index:02}"
    pipeline.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_skipped_sample_is_missing_in_all_outputs(case: Case, folder: Path) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL), on_error="skip")
    assert_same(run(pipeline, BATCHES), expected(case, folder, left_out=BAD))
    assert all(record.replacement is None for record in pipeline.bad_samples)
    pipeline.close()


@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_restored_run_gives_the_same_batches_and_the_same_list(case: Case, policy: str, folder: Path) -> None:
    _, files = damaged(case, folder)
    how = {"on_error": policy, "enable_checkpointing": True}
    whole = built(case, files, range(TOTAL), **how)
    rows = run(whole, 2)
    checkpoint = whole.checkpoint()
    rows += run(whole, 2)
    restored = built(case, files, range(TOTAL), checkpoint=checkpoint, num_threads=1, **how)
    assert_same(run(restored, 2), rows[2:])
    assert restored.bad_samples == whole.bad_samples and len(whole.bad_samples) > len(BAD)
    whole.close()
    restored.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_a_policy_the_batch_fails_and_the_next_one_comes(case: Case, folder: Path) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL))
    with pytest.raises(DaliLabError):
        pipeline.run()
    assert pipeline.bad_samples == []
    pipeline.close()


@pytest.mark.parametrize("graph", [trained, turned])
@pytest.mark.parametrize("seed", range(4))
def test_samples_that_are_bad_in_many_ways_have_the_next_good_one_in_their_place(
    graph: Callable[[Sequence[str], Sequence[int]], Any], seed: int, folder: Path, tmp_path: Path
) -> None:
    case = Case(graph, ".jpg", gone)
    good = good_files(".jpg", folder)
    files = [shutil.copy(path, tmp_path) for path in good]
    rng = np.random.default_rng(seed)
    bad = sorted(rng.permutation(TOTAL)[:5].tolist())
    for index in bad:  # a replacement is found early or late, and may turn out to be bad later than its place
        (no_header, cut_short, gone)[rng.integers(3)](files[index])
    order = donors(bad, TOTAL)
    wanted = run(built(case, [good[i] for i in order], order, batch_size=TOTAL), 1)
    for threads in (1, 2, 6):
        pipeline = built(
            case, files, range(TOTAL), batch_size=TOTAL, num_threads=threads, on_error="replace", max_error_rate=1
        )
        assert_same(run(pipeline, 1), wanted)
        assert [(record.sample, record.replacement) for record in pipeline.bad_samples] == [(i, order[i]) for i in bad]
        assert [Path(record.replacement_file or "").stem for record in pipeline.bad_samples] == [
            f"{order[i]:02}" for i in bad
        ]
        pipeline.close()


@pytest.mark.parametrize("graph", [trained, turned])
def test_a_picture_that_is_cut_short_makes_no_step_run_again(
    graph: Callable[[Sequence[str], Sequence[int]], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next picture of its chunk is decoded in its place, by the draws of the place."""
    case = Case(graph, ".jpg", cut_short)
    good, files = damaged(case, folder, [1])
    wanted = run(built(case, [good[i] for i in donors([1], TOTAL)], donors([1], TOTAL), batch_size=TOTAL), 1)
    ran: list[int] = []
    monkeypatch.setattr(ChunkRunner, "run_row", lambda self, stage_run, row: ran.append(row))
    pipeline = built(case, files, range(TOTAL), batch_size=TOTAL, on_error="replace", max_error_rate=1)
    assert_same(run(pipeline, 1), wanted)
    assert len(pipeline.bad_samples) == 1
    assert not ran
    pipeline.close()


def test_single_samples_get_the_last_good_one_of_an_earlier_batch(folder: Path) -> None:
    good, files = damaged(PLAIN, folder)
    pipeline = built(PLAIN, files, range(TOTAL), batch_size=1, on_error="replace", max_error_rate=1)
    order = [max(other for other in range(index + 1) if other not in BAD) for index in range(TOTAL)]
    wanted = built(PLAIN, [good[i] for i in order], order, batch_size=1)
    assert_same(run(pipeline, TOTAL), run(wanted, TOTAL))
    assert [record.replacement_iteration for record in pipeline.bad_samples] == [0, 6, 6, TOTAL - 2]
    assert [Path(record.replacement_file or "").stem for record in pipeline.bad_samples] == ["00", "06", "06", "16"]


def test_a_checkpoint_brings_the_last_good_sample_along(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    how = {"batch_size": 1, "on_error": "replace", "enable_checkpointing": True}
    whole = built(PLAIN, files, range(TOTAL), **how)
    run(whole, 8)  # the next one is bad, and so was the last
    restored = built(PLAIN, files, range(TOTAL), checkpoint=whole.checkpoint(), **how)
    assert_same(run(restored, 4), run(whole, 4))
    assert restored.bad_samples == whole.bad_samples


def test_a_replacement_names_the_file_of_the_reader_that_failed(folder: Path) -> None:
    """Two readers feed one node; damage behind either of them."""
    _, files = damaged(PLAIN, folder)
    good = good_files(".jpg", folder)

    def both() -> Any:
        first, second = (fn.readers.file(files=list(each))[0] for each in (good, files))
        pictures = [fn.resize(fn.decoders.image(each), size=(8, 8)) for each in (first, second)]
        return fn.cat(*pictures)

    pipeline = pipeline_def(both)(batch_size=SIZE, num_threads=2, device_id=None, on_error="replace", max_error_rate=1)
    run(pipeline, TOTAL // SIZE)
    assert len(pipeline.bad_samples) >= 2
    for record in pipeline.bad_samples:
        named = {Path(path or "").parent for path in (record.file, record.replacement_file)}
        assert named == {Path(files[0]).parent}
    pipeline.close()
