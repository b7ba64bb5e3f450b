"""Videos that are fed, a batch of sequences a run, compared with NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.errors import DaliLabError
from dali_lab.schema import samples

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
pytest.importorskip("nvidia.dali.fn")


def pipeline(package: Any, batch_size: int = 2, **arguments: Any) -> Any:
    result = package.Pipeline(batch_size, 2, None, prefetch_queue_depth=1, exec_async=False, exec_pipelined=False)
    with result:
        result.set_outputs(package.fn.experimental.inputs.video(name="video", **arguments))
    result.build()
    return result


@pytest.mark.parametrize("policy", ["partial", "pad"])
@pytest.mark.parametrize(("length", "batch_size"), [(3, 2), (4, 3), (20, 2), (1, 11)])
def test_sequences(policy: str, length: int, batch_size: int) -> None:
    first = samples.video("libvpx-vp9", "webm", count=11)
    second = samples.video("mjpeg", "mp4", count=5, size=(48, 64))
    results = []
    for package in (dali_lab, dali):
        pipe = pipeline(package, batch_size, sequence_length=length, last_sequence_policy=policy)
        pipe.feed_input("video", [first])
        pipe.feed_input("video", [second])
        runs = sum(-(-count // (length * batch_size)) for count in (11, 5))
        results.append([[np.array(out.at(i)) for i in range(len(out))] for (out,) in (pipe.run() for _ in range(runs))])
    assert [[s.shape for s in batch] for batch in results[0]] == [[s.shape for s in batch] for batch in results[1]]
    for ours, theirs in zip(*results, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_bad_data_leaves_the_pipeline_usable() -> None:
    pipe = pipeline(dali_lab, sequence_length=3)
    with pytest.raises(DaliLabError, match="no video was fed"):
        pipe.run()
    pipe.feed_input("video", [np.zeros(100, np.uint8)])
    with pytest.raises(DaliLabError, match="cannot decode the video"):
        pipe.run()
    with pytest.raises(DaliLabError, match="one video at a time"):
        pipe.feed_input("video", [np.zeros(100, np.uint8)] * 2)
    with pytest.raises(DaliLabError, match="UINT8"):
        pipe.feed_input("video", [np.zeros(100, np.float32)])
    pipe.feed_input("video", [samples.video("libx264", "mp4", count=4)])
    assert [pipe.run()[0].at(0).shape[0] for _ in range(1)] == [3]
