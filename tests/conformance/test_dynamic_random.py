"""Random numbers outside of pipelines, in both engines: from the same generator the same numbers, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
import dali_lab.experimental.dynamic as ours
from dali_lab.errors import OperatorError
from dali_lab.schema.samples import picture

nvidia = pytest.importorskip("nvidia.dali")
theirs = pytest.importorskip("nvidia.dali.experimental.dynamic")

PICTURES = [picture(30, 40), picture(21, 17, seed=1), picture(8, 50, seed=2)]
FILES = [cv2.imencode(".png", picture(40 + index, 50))[1].reshape(-1) for index in range(3)]
MASKS = [(np.random.default_rng(index).random((20, 20)) > 0.6).astype(np.int32) for index in range(3)]
BOXES = [np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.3, 0.9, 0.8]], np.float32)] * 3
LABELS = [np.array([1, 2], np.int32)] * 3


def images(ndd: Any) -> Any:
    return ndd.batch(PICTURES, layout="HWC")


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "one number": lambda ndd, rng: ndd.random.uniform(range=(0.0, 1.0), rng=rng),
    "uniform": lambda ndd, rng: ndd.random.uniform(range=(-1.0, 2.0), shape=[5], batch_size=3, rng=rng),
    "values": lambda ndd, rng: ndd.random.uniform(values=[1.0, 2.0, 5.0], shape=[9], rng=rng),
    "wide": lambda ndd, rng: ndd.random.uniform(range=(0.0, 9.0), shape=[5], dtype=ndd.float64, rng=rng),
    "normal": lambda ndd, rng: ndd.random.normal(shape=[5], batch_size=3, rng=rng),
    "wide normal": lambda ndd, rng: ndd.random.normal(shape=[5], dtype=ndd.float64, rng=rng),
    "coins": lambda ndd, rng: ndd.random.coin_flip(batch_size=40, probability=0.3, rng=rng),
    "beta": lambda ndd, rng: ndd.random.beta(alpha=0.4, beta=0.7, shape=[7], batch_size=3, rng=rng),
    "choice": lambda ndd, rng: ndd.random.choice(3, p=[0.2, 0.3, 0.5], shape=[7], batch_size=3, rng=rng),
    "order": lambda ndd, rng: ndd.batch_permutation(batch_size=8, rng=rng),
    "window": lambda ndd, rng: ndd.random_crop_generator(ndd.as_batch([np.array([100, 200], np.int32)] * 3), rng=rng),
    "crop": lambda ndd, rng: ndd.random_resized_crop(images(ndd), size=(8, 9), rng=rng),
    "decoded crop": lambda ndd, rng: ndd.decoders.image_random_crop(ndd.batch(FILES), rng=rng),
    "crop of boxes": lambda ndd, rng: ndd.random_bbox_crop(ndd.batch(BOXES), ndd.batch(LABELS), rng=rng),
    "gaussian noise": lambda ndd, rng: ndd.noise.gaussian(images(ndd), stddev=20.0, rng=rng),
    "salt": lambda ndd, rng: ndd.noise.salt_and_pepper(images(ndd), prob=0.3, rng=rng),
    "shot noise": lambda ndd, rng: ndd.noise.shot(images(ndd), factor=8.0, rng=rng),
    "pixel": lambda ndd, rng: ndd.segmentation.random_mask_pixel(ndd.batch(MASKS), rng=rng),
    "object": lambda ndd, rng: ndd.segmentation.random_object_bbox(ndd.batch(MASKS), rng=rng),
}


def values(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [values(each) for each in value]
    samples = value.tensors if isinstance(value, (ours.Batch, theirs.Batch)) else [value]
    return [(np.asarray(each).tobytes(), np.asarray(each).shape) for each in samples]


@pytest.mark.parametrize("name", CASES)
def test_same_numbers(name: str) -> None:
    def drawn(ndd: Any) -> Any:
        found = []
        for seed in (7, 1 << 63):
            rng = ndd.random.RNG(seed=seed)
            found += [[values(CASES[name](ndd, rng)) for _ in range(2)], str(rng.state)]
        return found

    expected = drawn(theirs)
    assert drawn(ours) == expected
    with ours.EvalMode.deferred:
        assert drawn(ours) == expected


def test_default_generator() -> None:
    def drawn(ndd: Any) -> Any:
        ndd.random.set_seed(9)
        return values([ndd.random.uniform(range=(0.0, 1.0)), ndd.random.coin_flip(batch_size=9)])

    assert drawn(ours) == drawn(theirs)


@pytest.mark.parametrize("threads", [1, 3])
def test_states_in_pipelines(threads: int) -> None:
    """The first sample's state is that of the batch, and begins anew with each; also where words run over."""
    states = [np.array([5, 6, 2**32 - 1, 2**32 - 1, 9, 0, 3 + index], np.uint32) for index in range(4)]

    def run(engine: Any) -> Any:
        pipeline = engine.Pipeline(4, threads, None, seed=3)
        with pipeline:
            state = engine.fn.external_source(source=lambda: states)
            drawn = engine.fn.random.uniform(shape=[6], range=(0.0, 1.0), _random_state=state)
            pipeline.set_outputs(drawn, engine.fn.random.normal(shape=[600], _random_state=state))
        pipeline.build()
        return [[np.array(each).tobytes() for output in pipeline.run() for each in output] for _ in range(2)]

    expected = run(nvidia)
    assert run(dali_lab) == expected
    assert expected[0] == expected[1]


def test_states_that_are_too_short() -> None:
    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.random.coin_flip(_random_state=[1, 2]))
    with pytest.raises(OperatorError, match="has 7 integers"):
        pipeline.run()
