"""Checkpoints travel both ways: what NVIDIA DALI wrote goes on here, and what was written here goes on there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.types

dali = pytest.importorskip("nvidia.dali")

BOTH = {"here": dali_lab, "there": dali}
READERS: dict[str, dict[str, Any]] = {
    "in line": {},
    "shuffled": {"random_shuffle": True, "initial_fill": 4},
    "shuffled, all in the buffer": {"random_shuffle": True, "initial_fill": 100},
    "shards": {"num_shards": 3, "shard_id": 1},
    "padded shards": {"num_shards": 3, "shard_id": 1, "pad_last_batch": True},
    "shuffled shards": {"num_shards": 2, "shard_id": 1, "random_shuffle": True, "initial_fill": 3},
    "one shard": {"num_shards": 2, "stick_to_shard": True, "random_shuffle": True, "pad_last_batch": True},
    "shuffled each epoch": {"shuffle_after_epoch": True},
    "shards shuffled each epoch": {"shuffle_after_epoch": True, "num_shards": 2, "pad_last_batch": True},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("files")
    paths = [root / f"{index:02}.bin" for index in range(11)]
    for index, path in enumerate(paths):
        path.write_bytes(bytes([index]))
    return list(map(str, paths))


def make(package: Any, files: list[str], reader: dict[str, Any], checkpoint: bytes | None = None) -> Any:
    fn = package.fn

    @package.pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=9, enable_checkpointing=True)
    def define() -> Any:
        fn.random.uniform()  # no output needs it, but it takes a number
        data, label = fn.readers.file(files=files, name="Reader", **reader)
        index = fn.external_source(source=lambda info: np.array([info.idx_in_epoch, info.epoch_idx]), batch=False)
        uniform = fn.random.uniform(range=[0.0, 1.0])
        scaled = uniform * 2 + 1
        noisy = fn.noise.gaussian(fn.cast(data, dtype=package.types.FLOAT), stddev=2.0)
        named = fn.random.coin_flip(name="coin")
        return (
            label,
            index,
            scaled,
            noisy,
            named,
            uniform[0:1] if False else fn.permute_batch(label, indices=fn.batch_permutation(seed=4)),
        )

    return define(checkpoint=checkpoint)


def take(pipeline: Any, count: int) -> list[list[Any]]:
    return [[np.asarray(out.as_array()).tolist() for out in pipeline.run()] for _ in range(count)]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(("first", "second"), [("here", "there"), ("there", "here")])
def test_one_goes_on_where_the_other_was(files: list[str], reader: dict[str, Any], first: str, second: str) -> None:
    for consumed in (0, 1, 3, 4, 9):
        whole = make(BOTH[first], files, reader)
        whole.build()
        take(whole, consumed)
        saved = whole.checkpoint()
        expected = take(whole, 7)
        resumed = make(BOTH[second], files, reader, saved)
        resumed.build()
        assert take(resumed, 3) == expected[:3], consumed
        again = make(BOTH[first], files, reader, resumed.checkpoint())
        again.build()
        assert take(again, 4) == expected[3:], consumed
