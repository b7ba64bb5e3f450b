"""Decodes pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.headers import Headers, read_headers
from dali_lab.model import buffers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import ANY_DATA, BGR, BOOL, GRAY, RGB, UINT8, YCbCr, numpy_dtype
from dali_lab.model.errors import SampleError
from dali_lab.model.undecoded import Undecoded
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, flag, integer, register, string
from dali_lab.schema.operator import Extent

ENCODED = Input(
    "data",
    kind="encoded",
    layouts=None,
    doc="The bytes of one file for each sample: UINT8, or other elements of one byte.",
)

_HINTS = {
    "hw_decoder_load": (
        "float",
        0.65,
        "Kept for programs that set it: share of the pictures for the hardware decoder of a GPU.",
    ),
    "hybrid_huffman_threshold": (
        "int",
        1000000,
        "Kept for programs that set it: pixels above which a GPU unpacks pictures.",
    ),
    "device_memory_padding": ("int", 16777216, "Kept for programs that set it: bytes reserved on the GPU."),
    "host_memory_padding": ("int", 8388608, "Kept for programs that set it: bytes reserved on the host."),
    "device_memory_padding_jpeg2k": ("int", 0, "Kept for programs that set it: the same for JPEG 2000."),
    "host_memory_padding_jpeg2k": ("int", 0, "Kept for programs that set it: the same for JPEG 2000."),
    "preallocate_width_hint": (
        "int",
        0,
        "Largest width expected, in pixels: memory of a GPU is reserved for it; 0 if not known.",
    ),
    "preallocate_height_hint": ("int", 0, "Largest height expected, in pixels; 0 if not known."),
    "affine": ("bool", True, "Kept for programs that set it."),
    "split_stages": ("bool", False, "No longer has any effect."),
    "use_chunk_allocator": ("bool", False, "No longer has any effect."),
    "memory_stats": ("bool", False, "No longer has any effect."),
}

DECODING = (
    Arg(
        "output_type",
        "image_type",
        RGB,
        "Colour space of the result; ANY_DATA keeps the channels of the file.",
        important=True,
    ),
    Arg("dtype", "dtype", UINT8, "Type of the result; values are scaled to its range, floats go from 0 to 1."),
    flag("adjust_orientation", "Turn the picture as its EXIF orientation says.", default=True),
    flag("use_fast_idct", "Use a faster, less exact inverse transform for JPEG.", advanced=True),
    flag(
        "jpeg_fancy_upsampling",
        "Smooth interpolation of colours on the GPU; the CPU decoder always does it.",
        advanced=True,
    ),
    *(Arg(name, kind, default, doc, advanced=True) for name, (kind, default, doc) in _HINTS.items()),  # type: ignore[arg-type]
)
CACHING = (
    string("cache_type", "", "Kept for programs that set it; decoded pictures are not cached.", advanced=True),
    integer("cache_size", 0, "Kept for programs that set it.", advanced=True),
    integer("cache_threshold", 0, "Kept for programs that set it.", advanced=True),
    flag("cache_debug", "Kept for programs that set it.", advanced=True),
    flag("cache_batch_copy", "Kept for programs that set it.", default=True, advanced=True),
)


def encoded_bytes(call: Call, data: Batch) -> Batch:
    """Encoded files as one-dimensional UINT8, whatever type of single bytes and shape they come in."""
    if numpy_dtype(data.dtype).itemsize != 1:
        raise call.problem(f"takes encoded bytes, such as UINT8, got {data.dtype.name}")
    if data.dtype == UINT8 and data.ndim == 1:
        return data
    return data.replaced(dtype=UINT8, shapes=data.sizes.reshape(-1, 1), layout="")


class ImageDecoder(Operator):
    """Base of all picture decoders."""

    decodes = True
    whole_decoder = "decoders.image"
    differs = (
        "A damaged picture fails alone; NVIDIA DALI loses the pipeline, or the process. Decoded as well are BMP of 32"
        " bits with ANY_DATA, WebP and PNG with grey and alpha, TIFF and JPEG 2000 of any number of bits, and lossless"
        " JPEG of 12 and 16; grey TIFF with alpha comes out grey, where NVIDIA DALI takes alpha and the next pixel for"
        " colours, and planar TIFF of 16 bits with its own pixels. PNG and WebP with alpha are turned as their EXIF"
        " data say, with ANY_DATA too; of several EXIF blocks in a JPEG the first counts that says so, where NVIDIA"
        " DALI mixes them and may crash. JPEG 2000 in sYCC has the colours that were written, where NVIDIA DALI takes"
        " it for YUV; an animated PNG with a picture of its own for programs that do not animate is that picture, not"
        " the first frame; animated PNG as GRAY may be a level apart. `dtype` may be of any numbers."
    )
    inputs: ClassVar[tuple[Input, ...]] = (ENCODED,)
    outputs = (
        Output("images", layout="HWC", doc="Pictures of `dtype`, layout HWC, with the channels of `output_type`."),
    )
    devices = ("cpu", "mixed")
    on_gpu = True
    cpu_inputs = (0, 1, 2)
    defers = True

    def regions(
        self, call: Call, sizes: npt.NDArray[np.int64], others: Sequence[Batch]
    ) -> npt.NDArray[np.int64] | None:
        """Region of each picture as ``(y0, x0, y1, x1)``, or `None` for all of it."""
        return None

    needs_sizes = False

    def extents(self) -> tuple[Extent, ...]:
        channels = {RGB: 3, BGR: 3, YCbCr: 3, GRAY: 1}.get(self.value("output_type"), -1)
        hints = (int(self.value(f"preallocate_{name}_hint") or -1) for name in ("height", "width"))
        return (Extent((*hints, channels), self.value("dtype"), "HWC"),)

    def run(self, call: Call, *inputs: Batch) -> Batch:
        data = encoded_bytes(call, inputs[0])
        if self.value("dtype") == BOOL:
            raise call.problem("takes a type of numbers, got BOOL", argument="dtype")
        headers = read_headers(data.addresses, data.shapes[:, 0], data.array)
        regions = self.regions(call, self._sizes(call, headers), inputs[1:]) if self.needs_sizes else None
        if call.gpu is not None:
            return self._run_mixed(call, data, headers, regions)
        if call.defer:
            batch = self._deferred(call, data, headers, regions)
            if batch is not None:
                return batch
        return self._decode(call, data, headers, regions)

    def _deferred(
        self, call: Call, data: Batch, headers: Headers, regions: npt.NDArray[np.int64] | None
    ) -> Batch | None:
        """The undecoded pictures of a chunk for the consumer's kernel, if it can decode them all."""
        from dali_lab.codecs import image, libjpeg, plain

        if self.value("dtype") != UINT8 or not libjpeg.available():
            return None
        color = self.value("output_type").name
        found = plain.upright_windows(
            headers,
            color,
            windows=regions,
            adjust_orientation=self.value("adjust_orientation"),
            max_pixels=image.MAX_PIXELS,
        )
        if found is None:
            return None
        undecoded = Undecoded(
            data.addresses,
            data.shapes[:, 0],
            *found,
            color,
            self.value("use_fast_idct"),
            lambda wanted: self._decode(call, data, headers, regions, wanted),
        )
        batch = Batch(np.zeros(len(data), np.int64), undecoded.shapes, UINT8, "HWC", (), data.sources)
        batch.undecoded = undecoded
        return batch

    def _decode(
        self,
        call: Call,
        data: Batch,
        headers: Headers,
        regions: npt.NDArray[np.int64] | None,
        wanted: npt.NDArray[np.bool_] | None = None,
    ) -> Batch:
        """Decode the pictures of a chunk, or those that are wanted of it."""
        done, result = self._decode_plain(call, data, headers, regions, wanted)
        left = np.flatnonzero(~done if wanted is None else wanted & ~done)
        if result is None and len(left) < len(data):
            result = Batch(np.zeros(len(data), np.int64), np.zeros((len(data), 3), np.int64), UINT8, "HWC")
        if result is None or len(left) == len(data):
            result = self._decode_others(call, data, left, headers, regions)
        elif len(left):
            others = self._decode_others(call, data, left, headers, regions)
            addresses, shapes = result.addresses.copy(), result.shapes.copy()
            addresses[left], shapes[left] = others.addresses, others.shapes
            result = Batch(addresses, shapes, UINT8, "HWC", result.owners + others.owners)
        result.sources = data.sources
        return result

    def _decode_plain(
        self,
        call: Call,
        data: Batch,
        headers: Headers,
        regions: npt.NDArray[np.int64] | None,
        wanted: npt.NDArray[np.bool_] | None,
    ) -> tuple[npt.NDArray[np.bool_], Batch | None]:
        """Decode the plain pictures of a chunk into one block of memory; returns a mask of them, and the chunk."""
        from dali_lab.codecs import image, plain

        if self.value("dtype") != UINT8:
            return np.zeros(len(data), np.bool_), None
        made: list[Batch] = []

        def allocate(shapes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            made.append(call.allocate(shapes, UINT8, "HWC"))
            return made[0].addresses

        done = plain.decode_plain(
            headers,
            data.addresses,
            data.shapes[:, 0],
            self.value("output_type").name,
            allocate,
            windows=regions,
            adjust_orientation=self.value("adjust_orientation"),
            use_fast_idct=self.value("use_fast_idct"),
            max_pixels=image.MAX_PIXELS,
            only=wanted,
        )
        return done, made[0] if made else None

    def _decode_others(
        self,
        call: Call,
        data: Batch,
        which: npt.NDArray[np.int64],
        headers: Headers,
        regions: npt.NDArray[np.int64] | None,
    ) -> Batch:
        """Decode pictures of a chunk, each into memory of its own; `which` are their indices."""
        from dali_lab.codecs import image

        places = which.tolist()
        dtype = self.value("dtype")
        arrays, failures = image.decode(
            [data.array(place) for place in places],
            regions=None if regions is None else regions[which],
            output_type=self.value("output_type").name,
            dtype=numpy_dtype(dtype),
            adjust_orientation=self.value("adjust_orientation"),
            use_fast_idct=self.value("use_fast_idct"),
            allocate=buffers.empty,
            headers=[headers[place] for place in places],
        )
        if failures:
            index, reason = failures[0]
            raise self._failure(call, data, places[index], reason)
        return Batch.of(arrays, "HWC", dtype)  # type: ignore[arg-type]

    def _run_mixed(self, call: Call, data: Batch, headers: Headers, regions: npt.NDArray[np.int64] | None) -> Batch:
        """Decode supported pictures on the GPU, and the rest on the CPU; data and regions are on the CPU."""
        from dali_lab.codecs.nvimgcodec_gpu import gpu_decoder

        gpu = call.gpu
        assert gpu is not None
        output_type = self.value("output_type").name
        dtype = self.value("dtype")
        turn = self.value("adjust_orientation")
        windows = [None] * len(data) if regions is None else [tuple(row) for row in regions.tolist()]
        decoder = None
        if gpu.device.kind == "cuda" and dtype == UINT8 and output_type in ("RGB", "BGR", "GRAY"):
            decoder = gpu_decoder(gpu.device, bool(self.values.get("jpeg_fancy_upsampling")))
        addresses = np.zeros(len(data), np.int64)
        shapes = np.zeros((len(data), 3), np.int64)
        pitches = np.zeros(len(data), np.int64)
        if decoder is not None:
            buffers = data.arrays()
            addresses, shapes, pitches, images = decoder.decode(
                buffers, windows, output_type, gpu.stream, adjust_orientation=turn
            )
            gpu.afterwards(lambda event: decoder.keep(event, images))
        left = np.flatnonzero(addresses == 0)
        if len(left):
            rest = gpu.upload(self._decode_others(call, data, left, headers, regions))
            if len(left) == len(data):
                rest.sources = data.sources
                return rest
            addresses[left], shapes[left] = rest.addresses, rest.shapes
        out = call.allocate(shapes, dtype, "HWC")
        rows = shapes[:, 1:].prod(axis=1)
        pitches[left] = rows[left]
        if (pitches == rows).all():
            call.kernels("copy").copy(addresses, out.addresses, out.sizes, out.itemsize)
        else:  # rows that the decoder padded
            whole, wanted = (np.column_stack([shapes[:, 0], width]) for width in (pitches, rows))
            call.kernels("copy").copy_window(addresses, out.addresses, whole, np.zeros_like(whole), wanted, 1)
        out.sources = data.sources
        return out

    def _sizes(self, call: Call, headers: Headers) -> npt.NDArray[np.int64]:
        """Height and width of each picture as displayed, ``int64[N, 2]``."""
        for index, info in headers.others.items():
            if isinstance(info, Exception):
                raise call.problem(f"cannot decode the picture: {info}", sample=index) from info
        return headers.displayed_sizes() if self.value("adjust_orientation") else headers.sizes

    @staticmethod
    def _failure(call: Call, data: Batch, index: int, reason: str) -> SampleError:
        source = data.sources[index] if data.sources is not None and index < len(data.sources) else None
        error = call.problem(f"cannot decode the picture: {reason}", sample=index, source=source)
        assert isinstance(error, SampleError)
        return error


def sample_files() -> list[npt.NDArray[np.uint8]]:
    """A JPEG, a PNG and a grey JPEG, for cases."""
    import cv2

    from dali_lab.schema.samples import picture

    pictures = ((".jpg", picture(47, 61)), (".png", picture(30, 22, seed=1)), (".jpg", picture(33, 64, 1, seed=2)))
    return [cv2.imencode(ending, pixels)[1].reshape(-1) for ending, pixels in pictures]


@register
class Image(ImageDecoder):
    """Decodes pictures: JPEG, PNG, BMP, TIFF, WebP, JPEG 2000 and PNM.

    A picture that cannot be decoded raises an error that names its file; the pipeline remains usable.
    """

    name = "decoders.image"
    title = "Image decoder"
    arguments = (*DECODING, *CACHING)
    example = """
    >>> encoded, labels = fn.readers.file(file_root=root)
    >>> images = fn.decoders.image(encoded, device="mixed", output_type=types.RGB)
    """

    @classmethod
    def cases(cls) -> Iterable[Case]:
        from dali_lab.model.dtypes import BGR, FLOAT, UINT16, YCbCr

        files = (sample_files(),)
        yield Case(files)
        yield Case(files, {"output_type": BGR})
        yield Case(files, {"output_type": GRAY})
        # NVIDIA DALI 2.4 ends the process on some grey JPEG files with ANY_DATA, so they are left out here.
        yield Case((sample_files()[:2],), {"output_type": ANY_DATA})
        yield Case(files, {"output_type": YCbCr})
        yield Case(files, {"dtype": FLOAT}, tolerance=1e-6, reason="one rounding of the division by 255")
        yield Case(files, {"dtype": UINT16})
        yield Case(files, {"use_fast_idct": True})
        for way in (np.int8, np.bool_):
            yield Case(([file.view(way) for file in sample_files()],))
        yield Case(([file[None] for file in sample_files()],))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = sample_files()
        yield ErrorCase(([good[0], good[0][:2000], good[1]],), words=("sample 1", "truncated"))
        yield ErrorCase(([np.arange(100, dtype=np.uint8)],), words=("sample 0", "not an image"))
        yield ErrorCase(([np.zeros(0, np.uint8)],), words=("sample 0",))
        yield ErrorCase(([np.zeros((4, 4), np.int16)],), words=("bytes", "INT16"))
