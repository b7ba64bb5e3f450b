"""Graphs with caches, and runs of them that are compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab import Pipeline, fn, pipeline_def, types
from dali_lab.model.errors import DaliLabError

COUNT, SIZE, BATCHES = 14, 5, 9
"""Nine batches of five are more than three epochs of fourteen."""
LONG_AGO = 1_000_000_000
Rows = list[list[np.ndarray]]


def write_picture(path: Path, seed: int, changed: float = LONG_AGO) -> None:
    import cv2

    noise = np.random.default_rng(seed).integers(0, 255, (9, 12, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), cv2.resize(noise, (60 + seed % 7, 48)))
    os.utime(path, (changed, changed))


def damage(path: Path, kept: int = 400) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    os.utime(path, (LONG_AGO, LONG_AGO))


def read(root: Path, **more: Any) -> Any:
    return fn.readers.file(file_root=str(root), **{"random_shuffle": True, "initial_fill": 6, **more})


def validated(root: Path) -> Any:
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), resize_shorter=32)
    return fn.crop_mirror_normalize(images, crop=(24, 24), mean=[100.0], std=[50.0]), labels


def trained(root: Path) -> Any:
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image_random_crop(encoded), size=(20, 24))
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip()), labels * 2, fn.random.uniform()


def viewed(root: Path) -> Any:
    """Random windows of the same pictures, of some in gray levels."""
    encoded, labels = read(root)
    views = [fn.decoders.image_random_crop(encoded, name=name) for name in ("first", "second")]
    views.append(fn.decoders.image_random_crop(encoded, name="gray", output_type=types.GRAY))
    return *(fn.resize(view, size=(20, 20)) for view in views), labels


def augmented(root: Path) -> Any:
    """Random operators and a condition behind the kept part, and the name of each file."""
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), size=(32, 32))
    name = fn.get_property(images, key="source_info")
    images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True)
    if fn.random.coin_flip():
        images = fn.flip(images)
    else:
        images = fn.brightness(images, brightness=fn.random.uniform(range=(0.5, 1.5)))
    return images, labels, name


def of_two_readers(root: Path) -> Any:
    first, labels = read(root)
    second, _ = read(root, random_shuffle=False)
    images = [fn.resize(fn.decoders.image(each), size=(16, 16)) for each in (first, second)]
    return images[0] - images[1], labels, images[1], first


def by_name(root: Path) -> Any:
    """The cached edge is an output; the pictures have shapes of their own."""
    encoded, labels = read(root)
    images = fn.cache(fn.decoders.image(encoded))
    return images, fn.reshape(images, layout="HWC"), labels, fn.random.normal()


GRAPHS = (validated, trained, viewed, augmented, of_two_readers, by_name)


def make(define: Callable[[Path], Any], root: Path, **settings: Any) -> Pipeline:
    @pipeline_def(
        **{"batch_size": SIZE, "num_threads": 2, "seed": 12, **settings}, enable_conditionals=define is augmented
    )
    def pipeline() -> Any:
        return define(root)

    return pipeline()


def taken(pipeline: Pipeline, batches: int = BATCHES) -> list[Any]:
    """Outputs, or the messages of errors, batch by batch."""
    found: list[Any] = []
    for _ in range(batches):
        try:
            outputs = pipeline.run()
        except DaliLabError as error:
            found.append(str(error))
            continue
        found.append([[np.array(sample) for sample in output] for output in outputs])
    return found


def assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    assert len(found) == len(expected)
    for batch, (one, other) in enumerate(zip(found, expected, strict=True)):
        if isinstance(other, str):
            assert one == other
            continue
        assert not isinstance(one, str), one
        for output, (left, right) in enumerate(zip(one, other, strict=True)):
            for sample, (a, b) in enumerate(zip(left, right, strict=True)):
                assert a.dtype == b.dtype and np.array_equal(a, b), (batch, output, sample)


def kept(pipeline: Pipeline) -> int:
    """Samples that a pipeline's cache holds, once all is written."""
    assert pipeline._runner is not None
    assert pipeline._runner.kept is not None
    store = pipeline._runner.kept.store
    assert store is not None
    store.flush()
    return len(store.entries)


def fill(root: Path, cache: Path, define: Callable[[Path], Any] = validated) -> list[Any]:
    pipeline = make(define, root, cache=str(cache))
    found = taken(pipeline)
    kept(pipeline)
    pipeline.close()
    return found


def flip_bits(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(20, len(content), 997):
        content[place] ^= 0x10
    path.write_bytes(content)


def masked(root: Path) -> Any:
    """Pictures of few levels, which get much smaller when they are compressed."""
    encoded, labels = read(root)
    images = fn.resize(fn.decoders.image(encoded), size=(64, 64))
    return fn.cache(fn.cast(images / 64, dtype=types.UINT8) * 0), labels * 2, fn.random.uniform()
