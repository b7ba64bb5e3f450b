"""A first look at a GPU, in seconds: ``python -m tests.gpu.look``.

Versions, what can be used, one kernel, one pipeline with its table of memory, the rates of copies, decoding. What goes
wrong here is told at once, before tests are run for minutes.
"""

# ruff: noqa: T201 (what it prints is what it is for)
from __future__ import annotations

import importlib.metadata
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from dali_lab import Pipeline, fn
from dali_lab.codecs.backends.nvimgcodec_gpu import gpu_decoder
from dali_lab.device.interface import Device
from dali_lab.device.transfer import download, upload
from dali_lab.executor.placement import find_device
from dali_lab.kernels.cuda import nvrtc
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DeviceError
from tests.gpu.real import assert_alike, pipeline

QUALITY = 95
PACKAGES = ("numpy", "cupy-cuda13x", "nvidia-cuda-nvrtc", "nvidia-nvimgcodec-cu13", "nvidia-nvjpeg", "torch", "jax")


def versions() -> None:
    """Python, and the packages that take part."""
    found = [f"Python {sys.version.split()[0]}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    print(", ".join(found))


def describe(device: Device) -> None:
    """The device, its architecture and memory, and whether it decodes."""
    free, total = device.memory()
    print(f"{device}: {free >> 20} of {total >> 20} MiB free, decodes pictures: {device.decodes}")
    print(f"NVRTC {nvrtc.version()} compiles for {getattr(device, 'architecture', 'no architecture')}")


def copies(device: Device) -> None:
    """Rates of copies to the device and back, and that they keep the bytes."""
    data = Batch.of([np.random.default_rng(k).integers(0, 255, 64 << 20).astype(np.uint8) for k in range(2)])
    for _ in range(2):  # the first one takes memory
        began = time.perf_counter()
        there = upload(data, device)
        device.stream("transfer").synchronize()
        up = time.perf_counter() - began
        began = time.perf_counter()
        back = download(there)
        down = time.perf_counter() - began
    assert (back.array(1) == data.array(1)).all()
    print(f"to the device {data.nbytes / up / 1e9:.1f} GB/s, back {data.nbytes / down / 1e9:.1f} GB/s")


def one_kernel(device: Device) -> None:
    """The simplest graph."""
    made = Pipeline(2, 1, device.index, gpu="require" if device.kind == "cuda" else device.kind)
    with made:
        made.set_outputs(fn.flip(fn.external_source(source=lambda: np.arange(48).reshape(2, 2, 4, 3)).gpu()))
    assert made.run()[0].as_cpu().as_array()[0, 0, 0].tolist() == [9, 10, 11]
    made.close()
    print("a kernel ran")


def pictures(device: Device) -> None:
    """JPEG decoded on the GPU, and how many of them were."""
    decoder = gpu_decoder(device, False) if device.kind == "cuda" else None
    if decoder is None:
        print("pictures are decoded on the CPU")
        return
    rng = np.random.default_rng(4)
    small = [rng.integers(0, 255, (4, 5, 3)).astype(np.uint8) for _ in range(8)]
    plain = [cv2.resize(picture, (320 + 16 * k, 240)) for k, picture in enumerate(small)]
    files = [cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].reshape(-1) for picture in plain]
    made = Pipeline(len(files), 2, device.index, gpu="require")
    with made:
        made.set_outputs(fn.decoders.image(fn.external_source(source=lambda: files), device="mixed"))
    found = made.run()[0].as_cpu()
    made.close()
    apart = max(np.abs(np.asarray(found.at(k))[..., ::-1].astype(int) - plain[k]).mean() for k in range(len(files)))
    print(f"decoded on the GPU: {decoder.decoded}, left to the CPU: {decoder.refused}; {apart:.1f} levels apart")
    assert decoder.decoded, "none was decoded on the GPU"
    assert apart < 4


def one_pipeline(device: Device) -> None:
    """Several operators, compared with the CPU, with times and memory."""
    made, plain = (pipeline(64, 8, mode) for mode in ("require" if device.kind == "cuda" else device.kind, "never"))
    for _ in range(3):
        assert_alike(made.run()[0].as_cpu().as_array(), plain.run()[0].as_array())
    print((made.gpu_memory() or {})["table"])
    for name, row in made.executor_statistics().items():
        if "gpu_seconds" in row:
            print(f"{name}: {1e6 * row['gpu_seconds'] / 3:.0f} µs a batch, {row['gpu_launches']} launches")
    made.close()
    plain.close()


def main(mode: str = "require") -> int:
    """Look at one thing after the other; what fails is printed, and the next one follows. Returns 2 without a GPU."""
    versions()
    try:
        device = find_device(mode)
    except DeviceError as error:
        print(f"No GPU can be used: {error}")
        return 2
    failures = 0
    looks: tuple[Callable[[Any], None], ...] = (describe, copies, one_kernel, one_pipeline, pictures)
    for look in looks:
        try:
            look(device)
        except Exception:
            failures += 1
            print(f"{look.__name__} failed:\n{traceback.format_exc()}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
