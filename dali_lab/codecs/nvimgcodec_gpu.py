"""NVIDIA nvImageCodec on a GPU: a batch in one call on one stream, with the hardware engine where there is one."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import nvimgcodec
from dali_lab.codecs.encoded import Buffer
from dali_lab.codecs.nvimgcodec import Region

if TYPE_CHECKING:
    from dali_lab.device.cuda import CudaStream
    from dali_lab.device.interface import Device, Event, Stream

# NVIDIA DALI documents that the chroma of JPEG is not interpolated unless `jpeg_fancy_upsampling` is set.
_OPTIONS = ":fancy_upsampling={fancy}"
_HARDWARE_SHARE = 0.9


class GpuDecoder:
    """The decoder of a device, made once; it is used by one batch after the other.

    Parameters
    ----------
    device
        The GPU.
    fancy_upsampling
        Whether the chroma of JPEG is interpolated.

    Attributes
    ----------
    decoded, refused
        Pictures that were decoded here, and those that were left to the CPU.
    """

    def __init__(self, device: Device, fancy_upsampling: bool) -> None:
        self._library = nvimgcodec.library()
        self.decoded = 0
        self.refused = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Event, list[Any]]] = deque()
        library = self._library
        self._decoder = library.Decoder(
            device_id=device.index,
            backends=[
                library.Backend(
                    library.HW_GPU_ONLY, _HARDWARE_SHARE, library.LoadHintPolicy.ADAPTIVE_MINIMIZE_IDLE_TIME
                ),
                library.Backend(library.GPU_ONLY),
                library.Backend(library.HYBRID_CPU_GPU),
            ],
            options=_OPTIONS.format(fancy=int(fancy_upsampling)),
        )

    def decode(
        self,
        buffers: Sequence[Buffer],
        regions: Sequence[Region | None],
        output_type: str,
        stream: Stream,
        *,
        adjust_orientation: bool = True,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], list[Any]]:
        """Decode a batch in the order of a stream.

        Parameters
        ----------
        buffers, regions, output_type, adjust_orientation
            As in :func:`dali_lab.codecs.nvimgcodec.decode`.
        stream
            Where the work runs.

        Returns
        -------
        addresses
            ``int64[N]``, 0 for a picture that could not be decoded here or is not of UINT8.
        shapes
            ``int64[N, 3]``: height, width, channels.
        pitches
            ``int64[N]``, bytes from one row to the next.
        images
            The owners of the memory; to be given to :meth:`keep`.
        """
        library = self._library
        assert stream.device.kind == "cuda"
        cuda_stream: CudaStream = stream  # type: ignore[assignment]
        addresses = np.zeros(len(buffers), np.int64)
        shapes = np.zeros((len(buffers), 3), np.int64)
        pitches = np.zeros(len(buffers), np.int64)
        streams, places = [], []
        for place, (data, region) in enumerate(zip(buffers, regions, strict=True)):
            try:
                code = library.CodeStream(data if isinstance(data, (bytes, np.ndarray)) else bytes(data))
                if region is not None:
                    code = code.get_sub_code_stream(region=library.Region(*(int(edge) for edge in region)))
            except (RuntimeError, ValueError):
                continue
            streams.append(code)
            places.append(place)
        images = []
        if streams:
            parameters = nvimgcodec.parameters(output_type, adjust_orientation)
            with self._lock, cuda_stream.device:
                images = self._decoder.decode(streams, params=parameters, cuda_stream=cuda_stream.pointer)
        for place, image in zip(places, images, strict=True):
            interface = None if image is None else image.__cuda_array_interface__
            pitch = 0 if interface is None else _pitch(interface)
            if interface is None or not pitch:
                continue
            addresses[place] = interface["data"][0]
            shapes[place] = _extent(interface)
            pitches[place] = pitch
        done = int((addresses > 0).sum())
        self.decoded, self.refused = self.decoded + done, self.refused + len(buffers) - done
        return addresses, shapes, pitches, images

    def keep(self, event: Event, images: list[Any]) -> None:
        """Hold images until an event, after which nothing uses their memory."""
        with self._lock:
            while self._waiting and self._waiting[0][0].done():
                self._waiting.popleft()
            self._waiting.append((event, images))


def _extent(interface: Mapping[str, Any]) -> tuple[int, int, int]:
    height, width, *channels = interface["shape"]
    return height, width, channels[0] if channels else 1


def _pitch(interface: Mapping[str, Any]) -> int:
    """Bytes from one row of a picture to the next; 0 for one that is not of UINT8, or has gaps inside of rows."""
    _, width, channels = _extent(interface)
    if interface["typestr"] not in ("|u1", "<u1"):
        return 0
    strides = interface.get("strides")
    if strides is None:
        return width * channels
    within = tuple(strides[1:]) if len(strides) == 3 else (*strides[1:], 1)
    dense = within == (channels, 1) or (width == 1 and within[1] == 1)
    return int(strides[0]) if dense and strides[0] >= width * channels else 0


@functools.lru_cache(maxsize=16)
def gpu_decoder(device: Device, fancy_upsampling: bool) -> GpuDecoder | None:
    """The decoder of a device; `None` where nvImageCodec cannot decode there, for want of nvJPEG, say."""
    if not (nvimgcodec.available() and nvimgcodec.has_gpu_modules()):
        return None
    try:
        return GpuDecoder(device, fancy_upsampling)
    except (RuntimeError, AttributeError, TypeError):
        return None
