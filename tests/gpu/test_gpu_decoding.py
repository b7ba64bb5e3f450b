"""The code for decoding on a GPU, over stand-ins: nvImageCodec's objects are its own, its decoder is the CPU's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.codecs.backends import nvimgcodec, nvimgcodec_gpu
from dali_lab.device import cuda
from tests.gpu.test_cuda_code import device

__all__ = ["device"]

pytestmark = pytest.mark.skipif(not nvimgcodec.available(), reason="nvImageCodec is not installed")


class _Image:
    """A picture in the stand-in's device memory, with rows as far apart as is asked for."""

    def __init__(self, values: np.ndarray, padding: int) -> None:
        height, width, channels = values.shape
        self.capacity = values.nbytes
        self._memory = np.full((height, width * channels + padding), 0xCB, values.dtype)
        self._memory[:, : width * channels] = values.reshape(height, -1)
        strides = tuple(n * values.itemsize for n in (self._memory.shape[1], channels, 1))
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self._memory.ctypes.data, False),
            "strides": strides if padding else None,
            "stream": 101,
        }


class _Library:
    """nvImageCodec, but for its decoder."""

    def __init__(self, padding: int) -> None:
        self._padding = padding
        self._real = nvimgcodec.library()
        self.made: list[str] = []
        self.streams: list[int] = []
        self.reused: list[list[int] | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def Decoder(  # noqa: N802 (nvImageCodec's name)
        self, *, device_id: int, max_num_cpu_threads: int, backends: list[Any], options: str
    ) -> Any:
        real, library = self._real, self
        assert device_id == 0 and 1 <= max_num_cpu_threads <= 8
        assert [b.backend_kind for b in backends] == [real.HW_GPU_ONLY, real.GPU_ONLY, real.HYBRID_CPU_GPU]
        self.made.append(options)
        host = real.Decoder(
            device_id=real.NVIMGCODEC_DEVICE_CPU_ONLY,
            backends=[real.Backend(real.CPU_ONLY)],
            options=options.split()[0],
        )

        class Decoder:
            def decode(self, sources: list[Any], *, images: Any, params: Any, cuda_stream: int) -> list[Any]:
                assert type(cuda_stream) is int and cuda_stream > 0
                assert images is None or len(images) == len(sources)
                library.reused.append(images and [image.capacity for image in images])
                library.streams.append(cuda_stream)
                found = host.decode(sources, params=params)
                return [None if image is None else _Image(np.asarray(image), library._padding) for image in found]

        return Decoder()


@pytest.fixture(params=[0, 5], ids=["dense", "padded"])
def library(request: pytest.FixtureRequest, device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch) -> _Library:
    made = _Library(request.param)
    monkeypatch.setattr(nvimgcodec_gpu.nvimgcodec, "library", lambda: made)
    device.decodes = True
    return made


def _files(folder: Path) -> list[Path]:
    rng = np.random.default_rng(5)
    small = [rng.integers(0, 255, (4, 5 + k, 3)).astype(np.uint8) for k in range(5)]
    for index, picture in enumerate(small):
        picture = np.kron(picture, np.ones((8, 8, 1), np.uint8))
        (folder / f"{index}.jpg").write_bytes(imagecodecs.jpeg_encode(picture, 95, subsampling="444"))
    return sorted(folder.iterdir())


def _run(files: list[Path], gpu: str, **arguments: Any) -> Any:
    pipeline = Pipeline(len(files), 1, 0, seed=3, gpu=gpu)
    with pipeline:
        data, _ = fn.readers.file(files=[str(path) for path in files])
        decode = fn.decoders.image_crop if "crop" in arguments else fn.decoders.image
        pipeline.set_outputs(decode(data, device="cpu" if gpu == "never" else "mixed", **arguments))
    try:
        return pipeline.run()[0].as_cpu()
    finally:
        pipeline.close()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"output_type": types.GRAY}, {"output_type": types.BGR}, {"crop": (17, 19), "crop_pos_x": 0.3}],
    ids=["RGB", "GRAY", "BGR", "region"],
)
def test_a_batch_is_decoded_in_one_call(
    library: _Library, device: cuda.CudaDevice, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    files = _files(tmp_path)
    found, expected = _run(files, "require", **arguments), _run(files, "never", **arguments)
    for index in range(len(files)):
        ours, theirs = np.asarray(found.at(index)).astype(int), np.asarray(expected.at(index)).astype(int)
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= 3
    decoder = nvimgcodec_gpu.gpu_decoder(device, False, len(files))
    made = ":fancy_upsampling=0 nvjpeg_hw_decoder:preallocate_batch_size=8"
    assert decoder is not None and library.made == [made], "one decoder for all batches of this size"
    _run(files[:1], "require", **arguments)
    assert library.made[1:] == [made.replace("=8", "=1")], "a preview of one picture has a decoder of its own"
    assert decoder.refused == 0 and decoder.decoded >= len(files)
    assert len(set(library.streams)) == 1 and device.stream("decode").pointer in library.streams


def test_memory_of_earlier_batches_is_used_again(library: _Library, device: cuda.CudaDevice, tmp_path: Path) -> None:
    files = _files(tmp_path)
    pipeline = Pipeline(3, 1, 0, gpu="require", prefetch_queue_depth=1)
    with pipeline:
        data, _ = fn.readers.file(files=[str(path) for path in files])
        pipeline.set_outputs(fn.decoders.image(data, device="mixed"))
    for _ in range(4):
        pipeline.run()
    pipeline.close()
    again = [sizes for sizes in library.reused if sizes]
    assert library.reused[0] is None and again, "pictures that have been copied make room for others"
    assert all(sizes == sorted(sizes, reverse=True) for sizes in again), "the largest for the largest"


def test_a_damaged_picture_is_told_by_its_file(library: _Library, device: cuda.CudaDevice, tmp_path: Path) -> None:
    files = _files(tmp_path)
    files[2].write_bytes(files[2].read_bytes()[:40])
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)sample 2.*2\.jpg|2\.jpg.*sample 2"):
        _run(files, "require")


def test_what_the_gpu_does_not_take_is_decoded_on_the_cpu(
    library: _Library, device: cuda.CudaDevice, tmp_path: Path
) -> None:
    files = _files(tmp_path)
    deep = np.kron(np.arange(12, dtype=np.uint16).reshape(3, 4, 1) * 900, np.ones((9, 9, 3), np.uint16))
    files[1].write_bytes(imagecodecs.png_encode(deep))
    files[3].write_bytes(imagecodecs.tiff_encode(deep, photometric="rgb"))
    found, expected = _run(files, "require"), _run(files, "never")
    for index in (1, 3):
        np.testing.assert_array_equal(found.at(index), expected.at(index))
    decoder = nvimgcodec_gpu.gpu_decoder(device, False, len(files))
    assert decoder is not None and decoder.refused == 0 and decoder.decoded >= 3, "headers told which were for the CPU"


def test_gaps_inside_of_rows_are_no_pictures() -> None:
    plain, shape = {"shape": (4, 5, 3), "typestr": "|u1", "strides": None}, [4, 5, 3]
    assert nvimgcodec_gpu._pitch(plain, shape) == 15
    assert nvimgcodec_gpu._pitch({**plain, "strides": (16, 3, 1)}, shape) == 16
    assert nvimgcodec_gpu._pitch({**plain, "strides": (20, 4, 1)}, shape) == 0
    assert nvimgcodec_gpu._pitch({**plain, "typestr": "<u2"}, shape) == 0
    assert nvimgcodec_gpu._pitch(plain, [4, 5, 1]) == nvimgcodec_gpu._pitch(plain, [5, 4, 3]) == 0
    assert nvimgcodec_gpu._pitch({**plain, "shape": (4, 5), "strides": (8, 1)}, [4, 5, 1]) == 8


def test_without_nvjpeg_nothing_is_decoded_on_the_gpu(
    library: _Library, device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvimgcodec, "_has_library", lambda name: False)
    nvimgcodec_gpu._gpu_decoder.cache_clear()
    assert nvimgcodec_gpu.gpu_decoder(device, False) is None, "and pipelines say that pictures go to the CPU"
    nvimgcodec_gpu._gpu_decoder.cache_clear()
