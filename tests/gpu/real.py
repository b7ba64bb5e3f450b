"""The GPU of this machine, and pipelines that tests run on it and on the CPU."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.device.interface import Device
from dali_lab.executor.placement import find_device
from dali_lab.model.errors import DeviceError

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take three quarters of the memory

MODE = os.environ.get("DALI_LAB_TEST_DEVICE", "require")
"""Where pipelines run that are tested: ``"emulated"`` is a rehearsal without a GPU."""
SHARE = 1e-3
"""CUDA's sine, exponential and so on differ from the C library's in the last bits, so that this share of whole numbers
may differ by a level."""


def gpu() -> Device:
    """The first GPU; where there is none, the module that asks is skipped with the reason."""
    try:
        return find_device(MODE)
    except DeviceError as error:
        pytest.skip(str(error), allow_module_level=True)


def pipeline(size: int = 224, batch: int = 32, mode: str = MODE, **settings: Any) -> Pipeline:
    """Pictures of different sizes, cropped at random, turned and normalised; on the CPU with the mode ``"never"``."""
    made = Pipeline(batch, 4, 0, seed=7, gpu=mode, **settings)
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 255, (300 + k, 400, 3)).astype(np.uint8) for k in range(batch)]
    with made:
        images = fn.external_source(source=lambda: pictures, layout="HWC")
        images = images if mode == "never" else images.gpu()
        images = fn.random_resized_crop(images, size=(size, size))
        images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True, fill_value=0)
        made.set_outputs(fn.crop_mirror_normalize(images, mean=[120.0], std=[60.0]))
    return made


def assert_alike(found: Any, expected: Any) -> None:
    """Outputs of :func:`pipeline` from both devices differ by a level here and there."""
    difference = np.abs(np.asarray(found) - np.asarray(expected))
    assert difference.max() <= 1 / 60 + 1e-4 and (difference > 1e-4).mean() < SHARE
