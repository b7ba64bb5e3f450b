"""Places of a graph that are kept: chosen by cost, with crops before them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import fn, types
from dali_lab.cli.entry import main
from dali_lab.kernels.cpu import resample_planes
from dali_lab.model.batch import Batch
from dali_lab.operators.fused.resize_normalize import ResizeNormalize
from dali_lab.schema import Call
from tests.unit.pipeline.caching.graphs import COUNT, assert_same, kept, make, read, taken


def averaged(root: Path) -> Any:
    """Everything is the same in every epoch, and the last result is the smallest."""
    encoded, _ = read(root)
    images = fn.cast(fn.decoders.image(encoded), dtype=types.FLOAT)
    return fn.reductions.mean(fn.gaussian_blur(images, window_size=5), axes=(0, 1)) + fn.random.uniform()


def test_the_place_is_chosen_by_cost(root: Path, cache: str) -> None:
    """Means of pictures cost most and are smallest, so they are kept, and all that share a folder keep the same."""
    expected = taken(make(averaged, root))
    for _ in range(2):
        pipeline = make(averaged, root, cache=cache)
        assert_same(taken(pipeline), expected)
        assert kept(pipeline) == COUNT
        store = pipeline._runner.kept.store  # type: ignore[union-attr]
        assert store.entries.mean_bytes() == 12  # type: ignore[union-attr]
        pipeline.close()
    if cache != "memory":
        assert len(list(Path(cache).glob("*.choice.json"))) == 1
        (choice,) = Path(cache).glob("*.choice.json")
        choice.write_text("[99]")  # damaged: chosen anew
        assert_same(taken(make(averaged, root, cache=cache)), expected)
        assert main(["cache", "rm", cache]) == 0
        assert not Path(cache).exists()


@pytest.mark.parametrize("resize", [{"resize_shorter": 32}, {"size": (32, 30)}, {"resize_x": 33.0, "antialias": False}])
@pytest.mark.parametrize("crop", [{"crop": (20, 18)}, {"crop_h": 7, "crop_w": 5, "crop_pos_x": 0.1, "crop_pos_y": 1.0}])
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_crops_of_resized_pictures(resize: Any, crop: Any, color: str, root: Path) -> None:
    """Only the windows are kept that a crop behind the resize cuts."""

    def define(root: Path) -> Any:
        encoded, _ = read(root)
        images = fn.resize(fn.decoders.image(encoded, output_type=getattr(types, color)), **resize)
        more = {"mirror": fn.random.coin_flip(), "mean": [100.0], "std": [50.0], "output_layout": "HWC"}
        return fn.crop_mirror_normalize(images, **crop, **more)

    expected = taken(make(define, root), 6)
    pipeline = make(define, root, cache="memory")
    assert_same(taken(pipeline, 6), expected)
    assert kept(pipeline) == COUNT
    height, width = np.asarray(expected[0][0][0]).shape[:2]
    store = pipeline._runner.kept.store  # type: ignore[union-attr]
    assert store.entries.mean_bytes() == height * width * (3 if color == "RGB" else 1)  # type: ignore[union-attr]
    pipeline.close()


def test_a_crop_beyond_the_picture(root: Path) -> None:
    """The error is that without a cache."""

    def define(root: Path) -> Any:
        images = fn.resize(fn.decoders.image(read(root)[0]), size=(20, 20))
        return fn.crop_mirror_normalize(images, crop=(30, 10), mirror=fn.random.coin_flip(), name="cut")

    expected = taken(make(define, root, batch_size=1), 2)
    assert all("cut" in message for message in expected)
    assert_same(taken(make(define, root, batch_size=1, cache="memory"), 2), expected)


@pytest.mark.skipif(not resample_planes.AVAILABLE, reason="this processor has no AVX-512")
def test_windows_are_kept_beside_what_is_made_of_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels come out of the step that makes planes of them: with the bits of both, mirrored or not."""

    def define(root: Path) -> Any:
        images = fn.resize(fn.decoders.image(read(root)[0]), resize_shorter=50)
        more = {"mirror": fn.random.coin_flip(), "mean": [100.0], "std": [50.0]}
        return fn.crop_mirror_normalize(images, crop=(40, 44), **more)

    made = []
    run = ResizeNormalize.run

    def noted(self: ResizeNormalize, call: Call, data: Batch) -> Batch:
        result = run(self, call, data)
        made.extend(call.aside or ())
        return result

    monkeypatch.setattr(ResizeNormalize, "run", noted)
    monkeypatch.setenv("DALI_LAB_COMPILE", "at-once")
    expected = taken(make(define, root))
    pipeline = make(define, root, cache="memory")
    assert_same(taken(pipeline), expected)
    assert kept(pipeline) == COUNT
    assert made
    pipeline.close()
