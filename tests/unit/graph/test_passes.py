"""Each pass changes the graph where it should, and no bit of any output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab import Pipeline, fn, types
from dali_lab.graph.passes import optimized
from dali_lab.schema.samples import picture

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
FILES = [
    cv2.imencode(".jpg", picture(height, width, seed=seed))[1].reshape(-1)
    for seed, (height, width) in enumerate([(60, 81), (97, 64), (70, 70), (64, 128), (33, 40)])
]
Definition = Callable[[Any], Any]


def build(define: Definition, *, optimize: bool, batch_size: int = 5) -> Pipeline:
    pipeline = Pipeline(batch_size, 2, None, seed=11, optimize=optimize)
    with pipeline:
        outputs = define(fn.external_source(source=lambda: FILES))
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    return pipeline


def assert_same(define: Definition) -> None:
    plain, fast = build(define, optimize=False), build(define, optimize=True)
    for _ in range(3):
        for left, right in zip(plain.run(), fast.run(), strict=True):
            assert left.layout() == right.layout()
            for index in range(len(left)):
                np.testing.assert_array_equal(np.asarray(left[index]), np.asarray(right[index]))


def operators(define: Definition) -> list[str]:
    return [node.op for node in optimized(build(define, optimize=False).graph).nodes.values()]


def normalize(images: Any, **more: Any) -> Any:
    return fn.crop_mirror_normalize(images, mean=MEAN, std=STD, **more)


FUSED: list[Definition] = [
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=(40, 36)), mirror=fn.random.coin_flip()),
    lambda x: normalize(fn.resize(fn.decoders.image(x), resize_shorter=40), crop=(32, 30), dtype=types.FLOAT16),
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=(50, 50)), crop=(20, 31), crop_pos_x=0.1, mirror=1),
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=(40, 36)), output_layout="HWC", pad_output=True),
    lambda x: normalize(fn.random_resized_crop(fn.decoders.image(x), size=(24, 24)), mirror=fn.random.coin_flip()),
    lambda x: normalize(fn.resize(fn.decoders.image_random_crop(x), size=32, interp_type=types.INTERP_CUBIC)),
    lambda x: normalize(fn.resize(fn.decoders.image(x), resize_x=fn.random.uniform(range=(20.0, 60.0)))),
    lambda x: fn.crop_mirror_normalize(fn.resize(fn.decoders.image(x), size=30), scale=64, shift=3, dtype=types.UINT8),
    lambda x: normalize(
        fn.resize(fn.decoders.image(x), size=30),
        crop=(40, 20),
        out_of_bounds_policy="pad",
        fill_values=1.0,
    ),
    lambda x: fn.crop_mirror_normalize(fn.resize(fn.decoders.image(x, output_type=types.GRAY), size=30), mean=3.0),
]
REGIONS: list[Definition] = [
    lambda x: fn.crop(fn.decoders.image(x), crop=(30, 28), crop_pos_x=fn.random.uniform(range=(0.0, 1.0))),
    lambda x: fn.slice(fn.decoders.image(x), rel_start=(0.1, 0.2), rel_shape=(0.5, 0.5), axis_names="HW"),
    lambda x: fn.slice(fn.decoders.image(x, output_type=types.GRAY), start=(3, 4), end=(20, 30)),
    lambda x: fn.slice(fn.decoders.image(x), start=(3, 4), shape=(0, 5)),
    lambda x: fn.flip(
        fn.slice(fn.decoders.image(x), 0.1, fn.random.choice([0.0, 0.5]), axes=[0], normalized_shape=True)
    ),
]
UNTOUCHED: list[Definition] = [
    lambda x: (lambda y: (y, normalize(y)))(fn.resize(fn.decoders.image(x), size=20)),
    lambda x: (lambda y: (normalize(y), fn.flip(y)))(fn.resize(fn.decoders.image(x), size=20)),
    lambda x: fn.crop(fn.decoders.image(x), crop=(300, 28), out_of_bounds_policy="pad"),
    lambda x: fn.crop(fn.decoders.image(x), crop=(30, 28), dtype=types.FLOAT),
    lambda x: fn.slice(fn.decoders.image(x), start=(0,), end=(1,), axis_names="C"),
    lambda x: normalize(fn.resize(fn.decoders.image(x), size=20, dtype=types.FLOAT)),
]


@pytest.mark.parametrize("define", FUSED)
def test_resize_and_normalize_become_one(define: Definition) -> None:
    found = operators(define)
    assert "_resize_normalize" in found
    assert "crop_mirror_normalize" not in found
    assert_same(define)


@pytest.mark.parametrize("define", REGIONS)
def test_only_the_region_is_decoded(define: Definition) -> None:
    found = operators(define)
    assert "decoders.image" not in found
    assert any(name in found for name in ("decoders.image_crop", "decoders.image_slice"))
    assert_same(define)


@pytest.mark.parametrize("define", UNTOUCHED)
def test_left_alone_where_the_result_would_differ(define: Definition) -> None:
    assert operators(define) == [node.op for node in build(define, optimize=False).graph.nodes.values()]
    assert_same(define)
