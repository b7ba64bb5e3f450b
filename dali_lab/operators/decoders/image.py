"""Decodes pictures."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends import libjpeg
from dali_lab.codecs.decoding import cut_short, decode
from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import Headers, read_headers
from dali_lab.codecs.job import Job
from dali_lab.codecs.plan import GPU, LIBJPEG, Wanted
from dali_lab.kernels.cpu.header_table import ORIENTATION
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import ANY_DATA, BGR, BOOL, FLOAT, GRAY, RGB, UINT8, UINT16, YCbCr, numpy_dtype
from dali_lab.model.errors import DaliLabError
from dali_lab.model.undecoded import Undecoded
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, flag, integer, register, string
from dali_lab.schema.arguments import MERGED
from dali_lab.schema.ports import Extent

if TYPE_CHECKING:
    from dali_lab.codecs.backends.nvimgcodec_gpu import GpuDecoder
    from dali_lab.device.launcher import Launcher

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
    string("cache_type", "", "Kept for programs that set it; pictures are kept as they come.", advanced=True),
    integer(
        "cache_size",
        0,
        "Most megabytes of decoded pictures that are kept in memory, of a decoder on `mixed`. It is for pipelines"
        " without a cache of their own (``Pipeline(cache=...)``), and where the decoder runs on the CPU.",
        advanced=True,
    ),
    integer("cache_threshold", 0, "Bytes of a decoded picture above which it is kept.", advanced=True),
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
    outputs: ClassVar[tuple[Output, ...]] = (
        Output("images", layout="HWC", doc="Pictures of `dtype`, layout HWC, with the channels of `output_type`."),
    )
    devices: ClassVar[tuple[str, ...]] = ("cpu", "mixed")
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
        headers, others = read_headers(data), inputs[1:]
        if call.lost is not None and headers.problems:
            data, headers = self._without(call, data, headers, headers.problems) or (data, headers)
        job = self._job(call, data, headers, others)
        if call.gpu is not None:
            return self._run_mixed(call, call.gpu, job)
        deferred = call.defer and self._can_defer(job)
        if deferred and call.lost is not None and (bad := cut_short(job)):
            job = self._job(call, *(self._without(call, data, headers, bad) or (data, headers)), others)
            deferred = self._can_defer(job)
        return self._deferred(call, job) if deferred else self._decoded(call, job, others)

    def _job(self, call: Call, data: Batch, headers: Headers, others: Sequence[Batch]) -> Job:
        return Job(data, headers, self._wanted(), self._windows(call, data, headers, others))

    def _without(
        self, call: Call, data: Batch, headers: Headers, bad: Mapping[int, CodecError]
    ) -> tuple[Batch, Headers] | None:
        """The next good picture of the chunk in the place of each bad one, which is lost; `None` if there is none."""
        rows = np.arange(len(data))
        good = np.delete(rows, [*bad, *(row - call.start for row in call.lost or ())])
        if not len(good):
            return None
        for index, error in bad.items():
            rows[index] = good[np.searchsorted(good, index) % len(good)]
            call.lose(self._failure(call, data, index, error), int(rows[index]))
        return data.take(rows), headers.take(rows)

    def _windows(
        self, call: Call, data: Batch, headers: Headers, others: Sequence[Batch]
    ) -> npt.NDArray[np.int64] | None:
        if not self.needs_sizes:
            return None
        for index, error in headers.problems.items():
            raise self._failure(call, data, index, error) from error
        try:
            return self.regions(call, headers.sizes(self.value("adjust_orientation")), others)
        except DaliLabError as error:
            if merged := self.values.get(MERGED.name):
                error.operator = merged[-1]
            raise

    def _wanted(self) -> Wanted:
        names = "adjust_orientation", "use_fast_idct"
        return Wanted(self.value("output_type").name, numpy_dtype(self.value("dtype")), *map(self.value, names))

    def _can_defer(self, job: Job) -> bool:
        """Whether the consumer's kernel can decode all pictures of a chunk."""
        upright = not job.wanted.adjust_orientation or bool((job.headers.table[:, ORIENTATION] == 1).all())
        if job.wanted.output_type not in ("RGB", "BGR") or not upright or job.refused:
            return False
        return all(route[:1] == (LIBJPEG,) for route in job.routes) and libjpeg.available()

    def _deferred(self, call: Call, job: Job) -> Batch:
        """The undecoded pictures of a chunk, for the consumer's kernel."""
        undecoded = Undecoded(
            job.data.addresses,
            job.data.shapes[:, 0],
            np.concatenate([job.headers.sizes(), job.shapes[:, 2:]], axis=1),
            job.windows,
            job.wanted.output_type,
            job.wanted.use_fast_idct,
            lambda only: self._decode(call, job, only),
        )
        batch = Batch(np.zeros(len(job), np.int64), undecoded.shapes, UINT8, "HWC", (), job.data.sources)
        batch.undecoded = undecoded
        return batch

    def _decoded(self, call: Call, job: Job, others: Sequence[Batch]) -> Batch:
        """Decode the pictures of a chunk on the CPU; with the next good one in the place of each that cannot be."""
        allocate = functools.partial(call.allocate, dtype=self.value("dtype"), layout="HWC")
        failures = decode(job, allocate)
        moved = self._without(call, job.data, job.headers, failures) if failures and call.lost is not None else None
        if moved is None:
            return self._without_failures(call, job, failures)
        data, headers = moved
        rows, windows = np.sort([*failures]), self._windows(call, data, headers, others)
        again = Job(data.take(rows), headers.take(rows), job.wanted, None if windows is None else windows[rows])
        for index in decode(again, functools.partial(Batch.allocate, dtype=self.value("dtype"), layout="HWC")):
            row = int(rows[index])  # lost without the other one, whose window may be what cannot be decoded
            call.lose(self._failure(call, job.data, row, failures[row]))
        job.out.sources = data.sources
        return _with_rows(job.out, rows, again.out)

    def _decode(self, call: Call, job: Job, only: npt.NDArray[np.bool_]) -> Batch:
        """Decode some pictures of a chunk on the CPU."""
        failures = decode(job, functools.partial(call.allocate, dtype=self.value("dtype"), layout="HWC"), only)
        return self._without_failures(call, job, failures)

    def _without_failures(self, call: Call, job: Job, failures: Mapping[int, CodecError]) -> Batch:
        for index in sorted(failures):
            call.lose(self._failure(call, job.data, index, failures[index]))
        job.out.sources = job.data.sources
        return job.out

    def _run_mixed(self, call: Call, gpu: Launcher, job: Job) -> Batch:
        """Decode on the GPU as far as headers say that it can, and the rest on the CPU, where the data are."""
        left = np.ones(len(job), np.bool_)
        decoder = self._gpu_decoder(gpu, len(job))
        if decoder is not None:
            there_too = Job(job.data, job.headers, job.wanted._replace(on_gpu=True), job.windows)
            there = [i for i, route in enumerate(there_too.routes) if GPU in route and i not in there_too.refused]
            if there:
                there_too.out = call.allocate(job.shapes, self.value("dtype"), "HWC")
                left[there] = False
                left[decoder.on(gpu).decode(there_too, there)] = True
                return self._with_rest(call, gpu, job, np.flatnonzero(left), there_too.out)
        return gpu.upload(self._decode_on_cpu(call, job, np.arange(len(job))))

    def _gpu_decoder(self, gpu: Launcher, batch_size: int) -> GpuDecoder | None:
        """The decoder of the first batch, which it is made for; later ones are no larger."""
        from dali_lab.codecs.backends.nvimgcodec_gpu import gpu_decoder

        if gpu.device.kind != "cuda":
            return None
        fancy = bool(self.values.get("jpeg_fancy_upsampling"))
        size = (int(self.value(f"preallocate_{name}_hint")) for name in ("width", "height"))
        return self.kept("decoder", gpu.device, lambda: gpu_decoder(gpu.device, fancy, batch_size, *size))

    def _with_rest(self, call: Call, gpu: Launcher, job: Job, places: npt.NDArray[np.int64], out: Batch) -> Batch:
        """Pictures that the GPU decodes, with those at some places decoded on the CPU."""
        addresses, shapes, owners = out.addresses.copy(), out.shapes.copy(), out.owners
        if len(places):
            rest = gpu.upload(self._decode_on_cpu(call, job, places))
            addresses[places], shapes[places], owners = rest.addresses, rest.shapes, (*owners, *rest.owners)
        return Batch(addresses, shapes, out.dtype, "HWC", owners, job.data.sources)

    def _decode_on_cpu(self, call: Call, job: Job, places: npt.NDArray[np.int64]) -> Batch:
        """Decode some pictures of a batch on all threads; the batch has these alone."""
        allocate = functools.partial(Batch.allocate, dtype=self.value("dtype"), layout="HWC")
        nothing = allocate(np.zeros((0, 3), np.int64))
        parts = [nothing, *(allocate(np.zeros((1, 3), np.int64)) for _ in places)]
        failures = {index: job.refused[index] for index in places.tolist() if index in job.refused}

        def one(number: int) -> None:
            row = places[number : number + 1]
            if int(row[0]) not in job.refused:
                picture = Job(job.data.take(row), job.headers.take(row), job.wanted, job.windows[row])
                failed = decode(picture, allocate)
                failures.update({int(row[0]): error for error in failed.values()})
                parts[number + 1] = picture.out

        call.share_each(len(places), one)
        for index in sorted(failures):
            call.lose(self._failure(call, job.data, index, failures[index]))
        out = Batch.concat(parts)
        if job.data.sources is not None:
            out.sources = job.data.take(places).sources
        return out

    def _failure(self, call: Call, data: Batch, index: int, reason: CodecError) -> DaliLabError:
        source = data.sources[index] if data.sources is not None and index < len(data.sources) else None
        error = call.problem(f"cannot decode the picture: {reason}", sample=index, source=source)
        if merged := self.values.get(MERGED.name):
            error.node, error.operator, error.origin = merged[:3]
        return error


def _with_rows(batch: Batch, rows: npt.NDArray[np.int64], others: Batch) -> Batch:
    """A batch with other samples at some places: copied where they have the extent of those that were there."""
    from dali_lab.kernels.cpu import copy

    same = (batch.shapes[rows] == others.shapes).all(axis=1)
    copy.copy(others.addresses[same], batch.addresses[rows[same]], others.sizes[same], others.itemsize)
    if same.all():
        return batch
    addresses, shapes = batch.addresses.copy(), batch.shapes.copy()
    addresses[rows[~same]], shapes[rows[~same]] = others.addresses[~same], others.shapes[~same]
    return Batch(addresses, shapes, batch.dtype, batch.layout, (*batch.owners, *others.owners), batch.sources)


def sample_files() -> list[npt.NDArray[np.uint8]]:
    """A JPEG, a PNG and a grey JPEG, for cases."""
    from dali_lab.codecs.encoding import encode
    from dali_lab.schema.samples import picture

    pictures = (("JPEG", picture(47, 61)), ("PNG", picture(30, 22, seed=1)), ("JPEG", picture(33, 64, 1, seed=2)))
    return [np.frombuffer(encode(pixels, form), np.uint8) for form, pixels in pictures]


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
        yield ErrorCase(([good[0], good[0][: len(good[0]) // 2], good[1]],), words=("sample 1", "truncated"))
        yield ErrorCase(([np.arange(100, dtype=np.uint8)],), words=("sample 0", "not an image"))
        yield ErrorCase(([np.zeros(0, np.uint8)],), words=("sample 0",))
        yield ErrorCase(([np.zeros((4, 4), np.int16)],), words=("bytes", "INT16"))
