"""Random windows against NVIDIA DALI's, for the same seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.codecs.headers import read_headers
from dali_lab.codecs.random_window import crop_windows
from dali_lab.kernels.streams import GeneratorState
from tests.together import with_each
from tests.unit.codecs import oracle, pictures
from tests.unit.codecs.decoding import batch as encoded
from tests.unit.codecs.decoding import decode

fn, types = oracle.fn, oracle.types


def dali_windows(sizes: np.ndarray, seed: int, batches: int, **arguments: Any) -> list[np.ndarray]:
    @oracle.pipeline_def(batch_size=len(sizes), num_threads=1, device_id=None)
    def pipeline() -> Any:
        shapes = fn.external_source(source=lambda: list(sizes), batch=True)
        anchor, shape = fn.random_crop_generator(shapes, seed=seed, **arguments)
        return anchor, shape

    built = pipeline()
    built.build()
    found = []
    for _ in range(batches):
        anchors, shapes = (np.stack([np.array(out.at(i)) for i in range(len(sizes))]) for out in built.run())
        found.append(np.concatenate([anchors, anchors + shapes], axis=1))
    return found


@with_each("largest", [4, 60, 900, 12000])
@with_each(
    "arguments",
    [
        {},
        {"random_area": (0.01, 0.1)},
        {"random_area": (0.9, 1.0), "random_aspect_ratio": (1.0, 1.0), "num_attempts": 1},
        {"random_aspect_ratio": (0.1, 0.3)},
        {"random_aspect_ratio": (2.0, 5.0), "random_area": (0.5, 0.9)},
        {"random_area": (1.0, 2.5), "num_attempts": 3},
        {"random_area": (1.0, 1.0)},
    ],
)
def test_windows_equal_dali(arguments: dict[str, Any], largest: int) -> None:
    sizes = np.random.default_rng(largest).integers(1, largest + 1, (24, 2))
    for seed in (0, 42, 2**31 - 1):
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}
        for batch, wanted in enumerate(dali_windows(sizes, seed, 3, **listed)):
            windows = crop_windows(sizes, GeneratorState(seed, batch * len(sizes)), np.arange(len(sizes)), **arguments)
            np.testing.assert_array_equal(windows, wanted)


def test_chunks_do_not_matter() -> None:
    sizes = np.random.default_rng(0).integers(1, 500, (32, 2))
    whole = crop_windows(sizes, GeneratorState(5, 64), np.arange(32))
    for part in (slice(0, 7), slice(7, 32)):
        np.testing.assert_array_equal(
            crop_windows(sizes[part], GeneratorState(5, 64), np.arange(32)[part]), whole[part]
        )


def test_decoder_takes_the_same_windows() -> None:
    files = [pictures.all_files()[name] for name in ("jpeg 420", "jpeg orientation 6", "png rgb", "webp lossy")]
    wanted = oracle.decoded(fn.decoders.image_random_crop, files, seed=7)[0]
    windows = crop_windows(read_headers(encoded(files)).sizes(displayed=True), GeneratorState(7), np.arange(len(files)))
    arrays, failures = decode(files, windows)
    assert not failures
    for array, reference in zip(arrays, wanted, strict=True):
        np.testing.assert_array_equal(array, reference)


def test_no_window_in_an_empty_picture() -> None:
    np.testing.assert_array_equal(
        crop_windows(np.array([[0, 5], [7, 0]]), GeneratorState(1), np.arange(2)), np.zeros((2, 4))
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"random_area": (0.5, 0.1)},
        {"random_area": (-0.1, 1.0)},
        {"random_aspect_ratio": (-1.0, 1.0)},
        {"random_aspect_ratio": (0.0, 1.0)},
    ],
)
def test_wrong_ranges(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        crop_windows(np.array([[5, 5]]), GeneratorState(1), np.arange(1), **arguments)


def test_windows_stay_inside_huge_pictures() -> None:
    """NVIDIA DALI's products of sizes overflow here, and its windows may lie outside the picture."""
    sizes = np.array([[60000, 60000], [100000, 70000], [3, 2**30], [2**30, 3]])
    for ratio in ((0.1, 0.3), (3.0, 9.0)):
        windows = crop_windows(sizes, GeneratorState(1), np.arange(4), random_aspect_ratio=ratio)
        assert (windows[:, :2] >= 0).all()
        assert (windows[:, 2:] > windows[:, :2]).all()
        assert (windows[:, 2:] <= sizes).all()
