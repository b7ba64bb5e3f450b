"""Crops, slices and flips in a row, copied at once, give what they give one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dali_lab import Pipeline, fn, types
from dali_lab.errors import OperatorError
from dali_lab.graph.passes import optimized
from tests.together import with_each

Definition = Callable[[Any], Any]
GENERATOR = np.random.default_rng(7)
DATA = {
    "HWC": [GENERATOR.integers(0, 256, shape, np.uint8) for shape in ((31, 40, 3), (40, 33, 1), (37, 29, 4))],
    "CHW": [GENERATOR.integers(-9, 9, shape, np.int16) for shape in ((3, 31, 40), (1, 40, 33), (2, 37, 30))],
    "DHWC": [GENERATOR.random(shape, np.float32) for shape in ((25, 31, 40, 3), (24, 40, 33, 1), (30, 37, 29, 2))],
    "FHWC": [
        GENERATOR.integers(0, 256, shape, np.uint8) for shape in ((24, 31, 40, 3), (25, 40, 33, 1), (27, 37, 29, 2))
    ],
    "": [GENERATOR.integers(0, 256, shape, np.uint8) for shape in ((31, 40, 3), (40, 33, 1), (37, 29, 4))],
}


def build(define: Definition, data: Sequence[np.ndarray], layout: str, *, optimize: bool) -> Pipeline:
    pipeline = Pipeline(len(data), 2, None, seed=5, optimize=optimize)
    options: dict[str, Any] = {"layout": layout} if layout else {}
    with pipeline:
        pipeline.set_outputs(define(fn.external_source(source=lambda: list(data), **options)))
    pipeline.build()
    return pipeline


def results(define: Definition, layout: str, *, optimize: bool) -> Any:
    """Two batches, or the message of the error."""
    try:
        pipeline = build(define, DATA[layout], layout, optimize=optimize)
        return [np.asarray(row) for _ in range(2) for row in pipeline.run()[0]]
    except OperatorError as error:
        return str(error)


def assert_same(define: Definition, layout: str) -> None:
    plain, fast = (results(define, layout, optimize=optimize) for optimize in (False, True))
    if isinstance(plain, str):
        assert plain == fast
        return
    for left, right in zip(plain, fast, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def chain(number: int) -> Definition:
    """Two to five random operators; windows shrink by a little."""

    def define(images: Any) -> Any:
        generator = random.Random(number)
        size = 26
        for _ in range(generator.randint(2, 5)):
            name = generator.choice(["crop", "slice", "slice by shares", "flip"])
            size -= 2
            if name == "crop":
                position = generator.choice([0.0, 0.3, 1.0, None])
                images = fn.crop(
                    images,
                    crop=(size, size + 1),
                    crop_pos_x=fn.random.uniform(range=(0.0, 1.0)) if position is None else position,
                    crop_pos_y=generator.random(),
                )
            elif name == "slice":
                images = fn.slice(images, start=(generator.randint(0, 1), 1), shape=(size, size), axis_names="HW")
            elif name == "slice by shares":
                images = fn.slice(images, rel_start=0.03, rel_end=(0.99, 0.97), axis_names="WH")
            else:
                images = fn.flip(images, horizontal=fn.random.coin_flip(), vertical=generator.randint(0, 1))
        return images

    return define


@with_each("layout", DATA)
@with_each("number", range(8))
def test_random_chains(number: int, layout: str) -> None:
    define = chain(number)
    graph = optimized(build(define, DATA[layout], layout, optimize=False).graph)
    assert [node.op for node in graph.nodes.values() if not node.op.startswith("random.")][1:] == ["_window_chain"]
    assert_same(define, layout)


@with_each(
    "define",
    [
        lambda x: fn.flip(
            fn.slice(x, start=(5, 6), end=(90, 80), axis_names="HW", out_of_bounds_policy="trim_to_shape")
        ),
        lambda x: fn.flip(fn.crop(x, crop=(12, 11), dtype=types.FLOAT)),
        lambda x: fn.crop(fn.flip(x), crop=(90, 11)),
        lambda x: fn.flip(fn.slice(x, start=3, end=2, axis_names="W")),
        lambda x: fn.flip(fn.flip(x), horizontal=0, vertical=1),
    ],
)
@with_each("layout", DATA)
def test_other_arguments(define: Definition, layout: str) -> None:
    assert_same(define, layout)


def test_padding_stands_alone() -> None:
    def define(images: Any) -> Any:
        padded = fn.crop(images, crop=(60, 60), out_of_bounds_policy="pad", fill_values=(7.0,))
        return fn.flip(fn.crop(padded, crop=(50, 55)))

    graph = build(define, DATA["HWC"], "HWC", optimize=False).graph
    assert [node.op for node in optimized(graph).nodes.values()] == ["external_source", "crop", "_window_chain"]
    assert_same(define, "HWC")


def test_frames_with_arguments_of_their_own() -> None:
    mirrored = [np.arange(len(sample)) % 2 for sample in DATA["FHWC"]]

    def define(images: Any) -> Any:
        each = fn.per_frame(fn.external_source(source=lambda: [row.astype(np.int32) for row in mirrored]))
        return fn.flip(fn.slice(images, start=(1, 2), shape=(20, 21), axis_names="HW"), horizontal=each)

    assert_same(define, "FHWC")
