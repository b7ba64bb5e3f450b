"""Colour operators in a row, walked through at once, give the bits of the operators one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, types
from dali_lab.errors import OperatorError
from dali_lab.graph.passes import optimized
from dali_lab.schema.samples import picture
from tests.together import with_each

Definition = Callable[[Any], Any]
PICTURES = [picture(height, width, seed=height) for height, width in ((31, 40), (40, 33), (1, 1), (37, 29))]
FACTORS = {
    "brightness": ("brightness", "brightness_shift"),
    "contrast": ("contrast", "contrast_center"),
    "brightness_contrast": ("brightness", "brightness_shift", "contrast", "contrast_center"),
    "hsv": ("hue", "saturation", "value"),
    "hue": ("hue",),
    "saturation": ("saturation",),
    "color_twist": ("hue", "saturation", "contrast", "brightness"),
}
RANGES = {"hue": (-200.0, 200.0), "brightness_shift": (-0.3, 0.3), "contrast_center": (0.0, 255.0)}
SPACES = (types.RGB, types.BGR, types.YCbCr)


def build(define: Definition, data: Sequence[np.ndarray], layout: str, *, optimize: bool) -> Pipeline:
    pipeline = Pipeline(len(data), 2, None, seed=5, optimize=optimize)
    with pipeline:
        pipeline.set_outputs(define(fn.external_source(source=lambda: list(data), layout=layout)))
    pipeline.build()
    return pipeline


def outputs(define: Definition, data: Sequence[np.ndarray], layout: str, *, optimize: bool) -> list[np.ndarray]:
    pipeline = build(define, data, layout, optimize=optimize)
    return [np.asarray(row) for _ in range(2) for row in pipeline.run()[0]]


def assert_same(define: Definition, data: Sequence[np.ndarray] = PICTURES, layout: str = "HWC") -> None:
    ran = [outputs(define, data, layout, optimize=optimize) for optimize in (False, True)]
    for plain, fast in zip(*ran, strict=True):
        assert plain.dtype == fast.dtype
        np.testing.assert_array_equal(plain, fast)


def chain(number: int) -> Definition:
    """Two to five random operators with random arguments, some of them drawn for each sample."""

    def define(images: Any) -> Any:
        generator = random.Random(number)
        for _ in range(generator.randint(2, 5)):
            name = generator.choice([*FACTORS, "color_space_conversion"])
            if name == "color_space_conversion":
                source, target = generator.sample(SPACES, 2)
                images = fn.color_space_conversion(images, image_type=source, output_type=target)
                continue
            arguments: dict[str, Any] = {}
            for argument in FACTORS[name]:
                low, high = RANGES.get(argument, (0.0, 2.5))
                if generator.random() < 0.4:
                    arguments[argument] = fn.random.uniform(range=(low, high))
                elif generator.random() < 0.7:
                    arguments[argument] = generator.uniform(low, high)
            images = getattr(fn, name)(images, **arguments)
        return images

    return define


@with_each("number", range(20))
def test_random_chains(number: int) -> None:
    define = chain(number)
    graph = optimized(build(define, PICTURES, "HWC", optimize=False).graph)
    assert [node.op for node in graph.nodes.values() if node.op != "random.uniform"][1:] == ["_color_chain"]
    assert_same(define)


TWO: Definition = lambda x: fn.contrast(fn.hue(x, hue=33.0), contrast=1.3)  # noqa: E731


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        ([picture(8, 9, seed=1).astype(np.float32), picture(5, 5, seed=2).astype(np.float32)], "HWC"),
        ([picture(8, 9, seed=1).astype(np.int16)] * 2, "HWC"),
        ([np.stack([picture(8, 9, seed=s) for s in range(3)]), picture(8, 9, seed=4)[None]], "FHWC"),
        ([np.stack([picture(8, 9, seed=s) for s in range(3)])] * 2, "DHWC"),
        ([np.stack([picture(8, 9, seed=s) for s in range(3)])] * 2, ""),
        ([picture(8, 9, seed=1)] * 2, ""),
        ([picture(8, 9, seed=1), np.zeros((0, 4, 3), np.uint8)], "HWC"),
    ],
)
def test_other_data(data: list[np.ndarray], layout: str) -> None:
    assert_same(TWO, data, layout)


def test_factors_of_frames() -> None:
    frames = [np.stack([picture(6, 7, seed=s) for s in range(count)]) for count in (2, 3)]
    factors = [np.array([0.5, 1.5], np.float32), np.array([1, 0.2, 2], np.float32)]

    def define(video: Any) -> Any:
        values = fn.external_source(source=lambda: factors, layout="F")
        return fn.saturation(fn.brightness(video, brightness=values), saturation=0.5)

    assert_same(define, frames, "FHWC")


@pytest.mark.parametrize(
    "define",
    [
        lambda x: fn.contrast(fn.hue(x, hue=33.0, dtype=types.FLOAT), contrast=1.3),
        lambda x: fn.contrast(fn.flip(fn.hue(x, hue=33.0)), contrast=1.3),
        lambda x: (lambda y: fn.cat(y, fn.hue(y, hue=3.0)))(fn.hue(x, hue=33.0)),
        lambda x: fn.brightness(
            fn.color_space_conversion(x, image_type=types.RGB, output_type=types.GRAY), brightness=0.5
        ),
    ],
)
def test_left_alone(define: Definition) -> None:
    graph = build(define, PICTURES, "HWC", optimize=False).graph
    assert [node.op for node in optimized(graph).nodes.values()] == [node.op for node in graph.nodes.values()]
    assert_same(define)


def test_an_error_names_the_operator() -> None:
    with pytest.raises(OperatorError, match=r"fn\.hue.*3 channels"):
        outputs(TWO, [np.zeros((4, 4, 1), np.uint8)], "HWC", optimize=True)
