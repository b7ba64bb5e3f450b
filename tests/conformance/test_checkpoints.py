"""Checkpoints work both ways: NVIDIA DALI's continue here, and ours continue there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.types
from tests.files import numbered_files

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
    return numbered_files(tmp_path_factory.mktemp("files"), 11)


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
        shuffled = fn.permute_batch(label, indices=fn.batch_permutation(seed=4))
        return label, index, scaled, noisy, named, shuffled

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


def decide(package: Any, checkpoint: bytes | None = None) -> Any:
    fn = package.fn

    @package.pipeline_def(
        batch_size=4, num_threads=2, device_id=None, seed=2, enable_checkpointing=True, enable_conditionals=True
    )
    def define() -> Any:
        first, second = fn.external_source(
            source=lambda i: (np.full((4, 3), i, np.uint8), np.full((4, 2), i)), num_outputs=2
        )
        chosen = fn.random.coin_flip(dtype=package.types.BOOL)
        if chosen and not first[0] > 4:
            result = fn.cast_like(fn.random.uniform(range=[0.0, 9.0]) * first, first)
        else:
            result = fn.cast_like(first + 1, first)
        return result, second, fn.stack(first[1:], result[:2]), result

    return define(checkpoint=checkpoint)


@pytest.mark.parametrize(("first", "second"), [("here", "there"), ("there", "here")])
def test_conditions_and_sources_of_several_outputs(first: str, second: str) -> None:
    whole = decide(BOTH[first])
    whole.build()
    take(whole, 3)
    saved = whole.checkpoint()
    expected = take(whole, 4)
    resumed = decide(BOTH[second], saved)
    resumed.build()
    assert take(resumed, 4) == expected


@pytest.mark.parametrize(("first", "second"), [("here", "there"), ("there", "here")])
def test_a_serialized_pipeline_and_its_checkpoint(files: list[str], first: str, second: str) -> None:
    def define(package: Any) -> Any:
        pipeline = package.Pipeline(3, 2, None, seed=9, enable_checkpointing=True)
        with pipeline:
            _, label = package.fn.readers.file(files=files, random_shuffle=True, initial_fill=4)
            pipeline.set_outputs(label, package.fn.random.normal() + package.fn.random.uniform(name="even"))
        pipeline.build()
        return pipeline

    whole = define(BOTH[first])
    take(whole, 5)
    saved, expected = whole.checkpoint(), take(whole, 4)
    graph = define(BOTH[first]).serialize()
    resumed = BOTH[second].Pipeline(3, 2, None, seed=9, enable_checkpointing=True, checkpoint=saved)
    resumed.deserialize_and_build(graph)
    assert take(resumed, 4) == expected


def added(fn: Any, chosen: Any, data: Any) -> Any:
    if chosen:
        return data + fn.random.uniform(range=[0.0, 9.0])
    return data


def branches(package: Any, checkpoint: bytes | None = None) -> Any:
    """Operators without inputs in expressions with variables from outside: these are cut where they are read."""
    fn = package.fn

    @package.pipeline_def(
        batch_size=4, num_threads=2, device_id=None, seed=2, enable_checkpointing=True, enable_conditionals=True
    )
    def define() -> Any:
        data = fn.random.uniform(range=[0.0, 1.0], shape=[2])
        chosen, other = (fn.random.coin_flip(dtype=package.types.BOOL) for _ in range(2))
        if chosen:
            if other:
                result = data + fn.random.normal(data, mean=fn.random.uniform()) * fn.random.uniform()
            else:
                result = added(fn, not chosen, data)
        else:
            result = fn.random.uniform() - data + fn.random.uniform()
        return result, added(fn, other, data)

    return define(checkpoint=checkpoint)


@pytest.mark.parametrize(("first", "second"), [("here", "there"), ("there", "here")])
def test_operators_without_inputs_in_branches(first: str, second: str) -> None:
    whole = branches(BOTH[first])
    whole.build()
    take(whole, 2)
    saved = whole.checkpoint()
    expected = take(whole, 3)
    resumed = branches(BOTH[second], saved)
    resumed.build()
    assert take(resumed, 3) == expected
