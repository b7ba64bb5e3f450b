"""Pictures that travel to the device and back, for tests of order and of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab import Pipeline, fn
from dali_lab.model.batch import Batch


def small_batch(count: int = 3, size: int = 5) -> Batch:
    """Small pictures, the same in each call."""
    rng = np.random.default_rng(1)
    return Batch.of([rng.integers(0, 255, (size, size, 3)).astype(np.uint8) for _ in range(count)], "HWC")


def both_ways(gpu: str, size: int = 40, **settings: Any) -> Pipeline:
    """A pipeline with transfers both ways, or the same on the CPU where `gpu` is ``"never"``."""
    place = "cpu" if gpu == "never" else "gpu"
    pipeline = Pipeline(4, 2, 0, seed=5, gpu=gpu, **settings)
    count = iter(range(10**6))
    with pipeline:

        def pictures() -> list[np.ndarray]:
            rng = np.random.default_rng(next(count))
            return [rng.integers(0, 255, (size, size + k, 3)).astype(np.uint8) for k in range(4)]

        images = fn.external_source(source=pictures, layout="HWC")
        resized = fn.random_resized_crop(images, size=(24, 24), device=place, name="resized")
        turned = fn.rotate(
            resized, angle=fn.random.uniform(range=(-30.0, 30.0)), fill_value=0, keep_size=True, device=place
        )
        back = fn.brightness_contrast(turned.cpu() if place == "gpu" else turned, brightness=1.1, name="on_cpu")
        normal = fn.crop_mirror_normalize(
            back.gpu() if place == "gpu" else back,
            mirror=fn.random.coin_flip(),
            mean=[120.0],
            std=[60.0],
            device=place,
            name="normal",
        )
        pipeline.set_outputs(normal, resized, back)
    return pipeline
