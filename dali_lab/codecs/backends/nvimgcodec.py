"""NVIDIA nvImageCodec on the host: JPEG, TIFF and BMP, whole or in part, a chunk in one call without the GIL."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab.codecs import convert
from dali_lab.codecs.backends.reasons import reason
from dali_lab.codecs.headers import Header
from dali_lab.codecs.headers.jpeg import with_one_exif
from dali_lab.codecs.job import Job
from dali_lab.kernels.cpu.header_table import BMP, JPEG
from dali_lab.model.lifetime import after_fork

# Both libraries read these when they are loaded. Their messages are reported by `CodecError` instead.
_QUIET = {"PYNVIMGCODEC_VERBOSITY": "0", "OPENCV_LOG_LEVEL": "OFF"}
# The modules that decode on a GPU, by the libraries they load. Each complains at length where its library is missing.
_GPU_MODULES = ("nvjpeg", "nvjpeg2k", "nvtiff")
_MODULES_VARIABLE = "NVIMGCODEC_EXTENSIONS_PATH"

_loading = threading.Lock()
_thread = threading.local()
_abandoned: list[Any] = []
_module: Any = None
_missing = False


def available() -> bool:
    """Whether the library can be imported and decodes on the host."""
    return _load() is not None


def has_gpu_modules() -> bool:
    """Whether one of the libraries is there by which it decodes on a GPU; it must be :func:`available`."""
    return _MODULES_VARIABLE in os.environ or any(map(_has_library, _GPU_MODULES))


def decode(job: Job, which: list[int]) -> list[int]:
    """Decode JPEG, TIFF and BMP, whole or in part, in one call for each colour that the library is asked for."""
    by_color: dict[str, list[int]] = {}
    for index in which:
        by_color.setdefault(_color(job.headers[index], job.wanted.colors), []).append(index)
    decoded: dict[int, Any] = {}
    for color, places in by_color.items():
        codes = {index: code for index in places if (code := code_stream(job, index)) is not None}
        decoder = _decoder(job.wanted.use_fast_idct)
        images = (
            decoder.decode([*codes.values()], params=parameters(color, job.wanted.adjust_orientation)) if codes else []
        )
        decoded.update(zip(codes, images, strict=True))

    def one(index: int) -> None:
        header, image = job.headers[index], decoded.pop(index, None)
        if image is None:
            raise reason(job.data.array(index), header)
        array = np.asarray(image)
        array = array if array.ndim == 3 else array[..., None]
        if job.wanted.colors == "GRAY" and array.shape[2] == 3:
            array = convert.gray_from_cmyk(array)
        job.as_displayed(index, array)

    return job.each(which, one)


def _color(header: Header, color: str) -> str:
    """The colours to ask the library for, where others than those that are wanted give the pixels of NVIDIA DALI."""
    if header.format == JPEG and header.channels == 4 and color == "GRAY":
        return "RGB"
    if header.format == BMP and color == "ANY_DATA":
        # With 32 bits the last 8 mean nothing in most files.
        return "RGB" if header.channels == 3 else "GRAY"
    return color


def code_stream(job: Job, index: int) -> Any:
    """A picture of a job, or the wanted region of it, for a decoder; `None` if the library refuses its header."""
    data, region = job.data.array(index), job.region(index)
    try:
        stream = _module.CodeStream(with_one_exif(data) if job.headers[index].format == JPEG else data)
        return stream if region is None else stream.get_sub_code_stream(region=_module.Region(*region))
    except (RuntimeError, ValueError):
        return None


def library() -> Any:
    """The module itself; it must be :func:`available`."""
    return _load()


def _load() -> Any:
    global _module, _missing
    if _module is None and not _missing:
        with _loading:
            if _module is None and not _missing:
                try:
                    with _quietly(), _host_modules_alone():
                        from nvidia import nvimgcodec

                        # Its extensions are loaded by the first decoder.
                        _new_decoder(nvimgcodec, False)
                    _module = nvimgcodec
                except (ImportError, OSError, RuntimeError, AttributeError):
                    # No wheel for this platform, or one too old to decode on the host.
                    _missing = True
    return _module


@contextmanager
def _quietly() -> Iterator[None]:
    ours = {name: value for name, value in _QUIET.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


@contextmanager
def _host_modules_alone() -> Iterator[None]:
    """While the library is loaded, offer it a folder without its GPU modules, if none of them has its library."""
    folder = _modules_folder()
    if folder is None or has_gpu_modules():
        yield
        return
    with ExitStack() as stack:
        try:
            chosen = stack.enter_context(tempfile.TemporaryDirectory(prefix="dali_lab-", ignore_cleanup_errors=True))
        except OSError:  # nothing can be written
            yield
            return
        left_out = tuple(f"lib{name}_ext." for name in _GPU_MODULES)
        for module in folder.iterdir():
            if not module.name.startswith(left_out):
                os.symlink(module, os.path.join(chosen, module.name))
        os.environ[_MODULES_VARIABLE] = chosen
        try:
            yield
        finally:
            os.environ.pop(_MODULES_VARIABLE, None)


def _modules_folder() -> Path | None:
    spec = importlib.util.find_spec("nvidia.nvimgcodec")
    folder = Path(spec.origin).parent / "extensions" if spec is not None and spec.origin else None
    return folder if folder is not None and folder.is_dir() else None


def _has_library(name: str) -> bool:
    """Whether a library of NVIDIA's is on this machine: in a wheel beside this one, or where the system looks."""
    import nvidia

    wheels = (path for root in nvidia.__path__ for path in Path(root).glob(f"*/lib*/lib{name}.so*"))
    return next(wheels, None) is not None or ctypes.util.find_library(name) is not None


def _new_decoder(library: Any, use_fast_idct: bool) -> Any:
    return library.Decoder(
        device_id=library.NVIMGCODEC_DEVICE_CPU_ONLY,
        backends=[library.Backend(library.CPU_ONLY)],
        max_num_cpu_threads=1,
        options=":fast_idct=1" if use_fast_idct else "",
    )


def _decoder(use_fast_idct: bool) -> Any:
    """The calling thread's decoder: one must not be used by two threads at a time."""
    name = "fast" if use_fast_idct else "exact"
    decoder = getattr(_thread, name, None)
    if decoder is None:
        decoder = _new_decoder(_module, use_fast_idct)
        setattr(_thread, name, decoder)
    return decoder


def parameters(output_type: str, adjust_orientation: bool) -> Any:
    """Decode parameters for nvImageCodec: colour format and orientation."""
    key = (output_type, adjust_orientation)
    if key not in _known_parameters:
        color, sample = {
            "RGB": ("SRGB", "I_RGB"),
            "BGR": ("SRGB", "I_BGR"),
            "GRAY": ("GRAY", "I_Y"),
            "ANY_DATA": ("UNCHANGED", "I_UNCHANGED"),
        }[output_type]
        _known_parameters[key] = _module.DecodeParams(
            apply_exif_orientation=adjust_orientation,
            color_spec=getattr(_module.ColorSpec, color),
            allow_any_depth=True,
            sample_format=getattr(_module.SampleFormat, sample),
        )
    return _known_parameters[key]


_known_parameters: dict[tuple[str, bool], Any] = {}


@after_fork
def _after_fork() -> None:
    """Keep a forked child from using or destroying its parent's decoders: their threads are not there."""
    global _thread
    _abandoned.append(_thread.__dict__.copy())
    _thread = threading.local()
