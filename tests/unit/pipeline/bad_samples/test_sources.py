"""Bad samples of sources in Python, of sequences and of videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from tests.unit.pipeline.bad_samples.cases import (
    BATCHES,
    SIZE,
    TOTAL,
    assert_same,
    donors,
    no_header,
    run,
    write_picture,
)


class Numbers:
    """Samples that raise for some indices, and are of another type for others."""

    def __init__(self, bad: Sequence[int], odd: Sequence[int] = ()) -> None:
        self.bad, self.odd = set(bad), set(odd)

    def __call__(self, info: Any) -> tuple[np.ndarray, np.ndarray]:
        index = info.idx_in_epoch
        if index >= TOTAL:
            raise StopIteration
        if index in self.bad:
            raise ValueError(f"no sample {index}")
        dtype = np.int64 if index in self.odd else np.float32
        return np.full((3, 1 + index), index, dtype), np.array([index], np.int32)


def drawn_from(source: Any, **settings: Any) -> Pipeline:
    """The samples of a source, with random numbers and the numbers of a reader beside them."""
    parallel = settings.pop("parallel", False)
    pipeline = Pipeline(SIZE, 2, None, seed=3, py_num_workers=2, **settings)
    with pipeline:
        data, numbers = fn.external_source(source, num_outputs=2, batch=False, parallel=parallel)
        _, others = fn.readers.file(files=[__file__] * TOTAL, labels=list(range(TOTAL)))
        pipeline.set_outputs(data * fn.random.uniform(range=(1.0, 2.0)), numbers, others)
    return pipeline


@pytest.mark.parametrize("parallel", [False, True])
def test_samples_that_a_source_of_python_does_not_give_are_replaced(parallel: bool) -> None:
    bad = [1, 7, 8, 17]
    order = donors(bad)

    def good(info: Any) -> tuple[np.ndarray, np.ndarray]:
        return Numbers([])(type(info)(order[info.idx_in_epoch], 0, 0, 0))

    wanted = run(drawn_from(good), BATCHES)
    for batch, start in zip(wanted, range(0, TOTAL, SIZE), strict=True):  # labels of the reader go with the samples
        batch[2 * SIZE :] = [np.array([order[start + i]], np.int32) for i in range(SIZE)]
    pipeline = drawn_from(Numbers(bad), on_error="replace", parallel=parallel)
    assert_same(run(pipeline, BATCHES), wanted)
    assert [record.iteration * SIZE + record.sample for record in pipeline.bad_samples] == bad
    assert "no sample 7" in pipeline.bad_samples[1].message
    with pytest.raises(StopIteration):
        pipeline.run()
    skipping = drawn_from(Numbers(bad), on_error="skip", parallel=parallel)
    assert [len(batch) // 3 for batch in run(skipping, BATCHES)] == [5, 4, 5]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_batch_that_a_source_does_not_give_is_filled_with_the_last_good_sample(parallel: bool) -> None:
    def source(number: int) -> np.ndarray:
        if number == 1:
            raise OSError("gone")
        return np.arange(SIZE) + SIZE * number

    def batches(on_error: str) -> Pipeline:
        pipeline = Pipeline(SIZE, 2, None, on_error=on_error, py_num_workers=2)
        with pipeline:
            pipeline.set_outputs(fn.external_source(source, batch=True, parallel=parallel))
        return pipeline

    first, second, third = run(batches("replace"), 3)
    assert [int(row) for row in second] == [SIZE - 1] * SIZE
    assert [int(row) for row in (*first, *third)] == [*range(SIZE), *range(2 * SIZE, 3 * SIZE)]
    assert [len(batch) for batch in run(batches("skip"), 3)] == [SIZE, 0, SIZE]


def test_without_a_policy_an_error_of_a_source_is_raised() -> None:
    with pytest.raises(ValueError, match="no sample 1"):
        drawn_from(Numbers([1])).run()


def without_third_picture(video: bytes) -> bytes:
    """An AVI file whose third picture is zeros; the first mention of a chunk of pictures is that of the index."""
    content = bytearray(video)
    chunks = [place for place in range(len(content)) if content[place : place + 4] == b"00dc"][1:]
    content[chunks[2] + 8 : chunks[3]] = bytes(chunks[3] - chunks[2] - 8)
    return bytes(content)


def test_sequences_of_pictures_and_of_videos_are_replaced(tmp_path: Path) -> None:
    from dali_lab.schema import samples

    for stream in range(3):
        (tmp_path / "frames" / f"{stream}").mkdir(parents=True)
        for index in range(4):
            write_picture(tmp_path / "frames" / f"{stream}" / f"{index}.png", stream)
    no_header(str(tmp_path / "frames" / "1" / "2.png"))
    video = tmp_path / "a.avi"
    video.write_bytes(samples.video(count=6, codec="mjpeg", container="avi").tobytes())
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.sequence(file_root=str(tmp_path / "frames"), sequence_length=4))
    (batch,) = run(pipeline, 1)
    np.testing.assert_array_equal(batch[1], batch[2])
    assert "cannot decode the frame" in pipeline.bad_samples[0].message
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.video(filenames=[str(video)], sequence_length=2))
    pipeline.build()
    wanted = run(pipeline, 1)[0]
    video.write_bytes(without_third_picture(video.read_bytes()))
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.video(filenames=[str(video)], sequence_length=2))
    (batch,) = run(pipeline, 1)
    assert [record.sample for record in pipeline.bad_samples] == [1]
    np.testing.assert_array_equal(batch[1], wanted[2])


def test_sequences_of_a_video_that_is_fed_are_replaced() -> None:
    from dali_lab.schema import samples

    content = without_third_picture(samples.video(count=6, codec="mjpeg", container="avi").tobytes())
    for on_error, lengths in (("replace", 3), ("skip", 2)):
        pipeline = Pipeline(3, 2, None, on_error=on_error, prefetch_queue_depth=1)
        with pipeline:
            pipeline.set_outputs(fn.experimental.inputs.video(name="video", sequence_length=2))
        pipeline.feed_input("video", [np.frombuffer(content, np.uint8)])
        (batch,) = run(pipeline, 1)
        assert len(batch) == lengths and [record.sample for record in pipeline.bad_samples] == [1]
        np.testing.assert_array_equal(batch[1], batch[-1])
