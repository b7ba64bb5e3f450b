"""NVIDIA nvImageCodec on a GPU: a batch in one call on one stream, with the hardware engine where there is one."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.codecs.backends import Backend, nvimgcodec
from dali_lab.codecs.job import Job
from dali_lab.kernels.cuda.copy import copy, copy_window
from dali_lab.model.system import usable_cores

if TYPE_CHECKING:
    from dali_lab.device.cuda import CudaStream
    from dali_lab.device.interface import Device, Event
    from dali_lab.device.launcher import Launcher

_HARDWARE_SHARE = 0.9
_MOST_THREADS = 8
"""Threads that unpack pictures for the GPU beside those of the pipeline; nvImageCodec takes all cores if not told."""


class GpuDecoder:
    """A decoder of a device; it is used by one batch after the other.

    nvImageCodec fixes how much the hardware decodes with the first batch, so there is a decoder for each size of batch:
    a preview of one picture leaves a training's alone.

    Parameters
    ----------
    device
        The GPU.
    fancy_upsampling
        Whether the chroma of JPEG is interpolated; by NVIDIA DALI's documentation it is only where
        `jpeg_fancy_upsampling` is set.
    batch_size
        Pictures of the largest batch.
    width, height
        Their largest size, as far as it is known; else 0.

    Attributes
    ----------
    decoded, refused
        Pictures that were decoded here, and those that it left to the CPU.
    """

    def __init__(
        self, device: Device, fancy_upsampling: bool, batch_size: int = 1, width: int = 0, height: int = 0
    ) -> None:
        library = nvimgcodec.library()
        self.decoded = 0
        self.refused = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Event, list[Any]]] = deque()
        self._idle: list[Any] = []
        hardware = {"batch_size": batch_size, "width_hint": width, "height_hint": height}
        options = [f"nvjpeg_hw_decoder:preallocate_{name}={value}" for name, value in hardware.items() if value]
        self._decoder = library.Decoder(
            device_id=device.index,
            max_num_cpu_threads=min(_MOST_THREADS, usable_cores()),
            backends=[
                library.Backend(
                    library.HW_GPU_ONLY, _HARDWARE_SHARE, library.LoadHintPolicy.ADAPTIVE_MINIMIZE_IDLE_TIME
                ),
                library.Backend(library.GPU_ONLY),
                library.Backend(library.HYBRID_CPU_GPU),
            ],
            options=" ".join([f":fancy_upsampling={int(fancy_upsampling)}", *options]),
        )

    def on(self, gpu: Launcher) -> Backend:
        """The backend of one batch: it decodes on the stream of a launcher, into device memory."""
        return _Batch(self, gpu)

    def decode(self, job: Job, which: list[int], stream: CudaStream) -> dict[int, Any]:
        """Decode pictures in the order of a stream; nvImageCodec's picture for each that it has decoded."""
        codes = {index: code for index in which if (code := nvimgcodec.code_stream(job, index)) is not None}
        if not codes:
            return {}
        parameters = nvimgcodec.parameters(job.wanted.colors, job.wanted.adjust_orientation)
        # The largest pictures first, so that each takes the place of one of its rank and memory grows little.
        sizes = job.shapes.prod(axis=1)
        order = sorted(codes, key=lambda index: -int(sizes[index]))
        with self._lock, stream.device:
            images = self._decoder.decode(
                [codes[index] for index in order],
                images=self._reusable(len(order)),
                params=parameters,
                cuda_stream=stream.pointer,
            )
        return {index: image for index, image in zip(order, images, strict=True) if image is not None}

    def _reusable(self, count: int) -> list[Any] | None:
        """Pictures of earlier batches whose memory nothing uses any more, the largest first, if there are as many."""
        while self._waiting and self._waiting[0][0].done():
            self._idle += self._waiting.popleft()[1]
        if len(self._idle) < count:
            return None
        self._idle.sort(key=lambda image: -image.capacity)
        taken, self._idle = self._idle[:count], self._idle[count:]
        return taken

    def keep(self, event: Event, images: list[Any]) -> None:
        """Hold pictures until an event, after which nothing uses their memory and others can be decoded into it."""
        with self._lock:
            self._waiting.append((event, images))


class _Batch:
    def __init__(self, decoder: GpuDecoder, gpu: Launcher) -> None:
        self._decoder, self._gpu = decoder, gpu

    def available(self) -> bool:
        return True

    def decode(self, job: Job, which: list[int]) -> list[int]:
        decoder, gpu = self._decoder, self._gpu
        images = decoder.decode(job, which, gpu.stream)  # type: ignore[arg-type]
        gpu.afterwards(lambda event: decoder.keep(event, [*images.values()]))
        found = {index: image.__cuda_array_interface__ for index, image in images.items()}
        pitches = {index: _pitch(interface, job.shapes[index].tolist()) for index, interface in found.items()}
        done = np.array([index for index, pitch in pitches.items() if pitch], np.int64)
        left = [index for index in which if not pitches.get(index)]
        decoder.decoded, decoder.refused = decoder.decoded + len(done), decoder.refused + len(left)
        if len(done):
            sources = np.array([found[index]["data"][0] for index in done.tolist()], np.int64)
            targets, shapes = job.out.addresses[done], job.shapes[done]
            pitch, row = np.array([pitches[index] for index in done.tolist()]), shapes[:, 1:].prod(axis=1)
            if (pitch == row).all():
                copy(gpu, sources, targets, shapes.prod(axis=1), 1)
            else:  # rows that the decoder padded
                stored, wanted = (np.column_stack([shapes[:, 0], width]) for width in (pitch, row))
                copy_window(gpu, sources, targets, stored, np.zeros_like(stored), wanted, 1)
        return left


def _pitch(interface: Mapping[str, Any], shape: list[int]) -> int:
    """Bytes from one row of a picture to the next; 0 if it is not of UINT8 and this shape, or has gaps in rows."""
    _, width, channels = shape
    if interface["typestr"] not in ("|u1", "<u1") or [*interface["shape"], 1][:3] != shape:
        return 0
    strides = interface.get("strides")
    if strides is None:
        return width * channels
    within = tuple(strides[1:]) if len(strides) == 3 else (*strides[1:], 1)
    dense = within == (channels, 1) or (width == 1 and within[1] == 1)
    return int(strides[0]) if dense and strides[0] >= width * channels else 0


def gpu_decoder(
    device: Device, fancy_upsampling: bool, batch_size: int = 1, width: int = 0, height: int = 0
) -> GpuDecoder | None:
    """The decoder for batches up to the next power of two above `batch_size`, shared by all who ask alike.

    `None` where nvImageCodec cannot decode on the device, for want of nvJPEG, say.
    """
    return _gpu_decoder(device, fancy_upsampling, 1 << (batch_size - 1).bit_length(), width, height)


@functools.lru_cache(maxsize=16)
def _gpu_decoder(device: Device, fancy_upsampling: bool, batch_size: int, width: int, height: int) -> GpuDecoder | None:
    if not (nvimgcodec.available() and nvimgcodec.has_gpu_modules()):
        return None
    try:
        return GpuDecoder(device, fancy_upsampling, batch_size, width, height)
    except (RuntimeError, AttributeError, TypeError):
        return None
