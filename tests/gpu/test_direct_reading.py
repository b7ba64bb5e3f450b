"""Arrays that are read into the memory of a GPU: the results of the CPU, in order with all other work on the device."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.device.emulated import EmulatedDevice, EmulatedStream
from dali_lab.device.interface import FilePart
from dali_lab.device.launcher import Launcher
from dali_lab.errors import DaliLabError
from dali_lab.model.dtypes import UINT8
from dali_lab.operators.readers.arrays.on_device import _runs

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[FilePart]:
    """The parts of files that emulated devices read, which read files themselves here."""
    parts: list[FilePart] = []
    read_file = EmulatedStream.read_file

    def noted(self: EmulatedStream, part: FilePart) -> None:
        parts.append(part)
        read_file(self, part)

    monkeypatch.setattr(EmulatedDevice, "reads_files", True)
    monkeypatch.setattr(EmulatedStream, "read_file", noted)
    return parts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index in range(5):
        array = np.random.default_rng(index).integers(0, 99, (4 + index, 6, 3)).astype(np.int16)
        np.save(tmp_path / f"{index}.npy", array)
    return tmp_path


def batches(gpu: str, root: Path, connected: bool = False, **arguments: Any) -> list[np.ndarray]:
    pipeline = Pipeline(3, 2, 0, gpu=gpu, prefetch_queue_depth=3, seed=7)
    with pipeline:
        if connected:
            arguments["roi_start"] = fn.random.uniform(values=[0, 1, 2], shape=(2,), dtype=_int32())
        device = "cpu" if gpu == "never" else "gpu"
        array = fn.readers.numpy(file_root=str(root), device=device, name="Reader", **arguments)
        pipeline.set_outputs(array, array + 1)
    found = []
    for _ in range(4):
        for output in pipeline.run():
            tensors = output.as_cpu()
            found += [np.array(tensors.at(index)) for index in range(len(tensors))]
    assert pipeline.reader_meta("Reader")["epoch_size"] == len(list(root.iterdir()))
    pipeline.close()
    return found


def _int32() -> Any:
    from dali_lab import types

    return types.INT32


@pytest.mark.parametrize(
    ("arguments", "direct"),
    [
        ({}, True),
        ({"random_shuffle": True, "cache_header_information": True}, True),
        ({"roi_start": [1], "roi_shape": [2], "roi_axes": [0]}, True),
        ({"roi_start": [1, 2], "roi_end": [3, 4], "roi_axes": [0, 1]}, True),
        ({"rel_roi_start": [0.2, 0.1, 0.4], "rel_roi_shape": [0.5, 0.5, 0.3]}, True),
        ({"connected": True, "roi_shape": [2, 3], "roi_axes": [0, 1]}, True),
        ({"roi_start": [-1], "roi_shape": [9], "roi_axes": [1], "out_of_bounds_policy": "pad", "fill_value": 7}, False),
    ],
)
def test_results_are_those_of_the_cpu(
    arguments: dict[str, Any], direct: bool, folder: Path, reads: list[FilePart]
) -> None:
    found, expected = batches("emulated", folder, **arguments), batches("never", folder, **arguments)
    assert len(found) == len(expected)
    for ours, cpus in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, cpus)
    assert bool(reads) == direct


def test_other_orders_are_copied(tmp_path: Path, reads: list[FilePart]) -> None:
    np.save(tmp_path / "turned.npy", np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
    np.testing.assert_array_equal(batches("emulated", tmp_path)[0], np.arange(24.0).reshape(2, 3, 4))
    assert not reads


def test_files_are_read_after_work_that_uses_the_memory(tmp_path: Path, reads: list[FilePart]) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(100)))
    device = EmulatedDevice()
    stream = device.stream("compute")
    with Launcher(stream) as gpu:
        out = gpu.batch(np.array([[40]]), UINT8, "")
        place = int(out.addresses[0])
        gpu.then(lambda: device.read_files(stream, [FilePart(str(tmp_path / "bytes"), 20, place, 40)]))
    assert reads and (device.host(place, 40) == 0xCB).all(), "a stream works only when it is waited for"
    stream.synchronize()
    assert device.host(place, 40).tolist() == list(range(20, 60))


def test_a_file_that_ends_too_early_is_named(folder: Path, reads: list[FilePart]) -> None:
    path = folder / "3.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DaliLabError, match=r"(?s)fn.readers.numpy \(node 'Reader'\), sample 0: .*3\.npy"):
        batches("emulated", folder)


def test_a_file_that_ends_too_early_is_left_out_where_the_reader_says_so(folder: Path, reads: list[FilePart]) -> None:
    path = folder / "1.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with Pipeline(3, 2, 0, gpu="emulated") as pipeline:
        array = fn.readers.numpy(file_root=str(folder), device="gpu", name="Reader", on_error="skip")
        pipeline.set_outputs(array)
    (found,) = pipeline.run()
    assert [found.as_cpu().at(index).shape[0] for index in range(len(found))] == [4, 6]
    assert [bad.node for bad in pipeline.bad_samples] == ["Reader"]
    pipeline.close()


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (3, 1, 4, 2), ()])
def test_windows_are_read_in_pieces(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(shape))
    array = np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(20):
        start = np.array([generator.integers(0, n) for n in shape], np.int64)
        extent = np.array([generator.integers(0, n - at + 1) for n, at in zip(shape, start, strict=True)], np.int64)
        window = array[tuple(slice(at, at + n) for at, n in zip(start, extent, strict=True))]
        read = np.full(window.size, -1)
        for at, to, count in _runs(np.array(shape, np.int64), start, extent):
            read[to : to + count] = array.reshape(-1)[at : at + count]
        np.testing.assert_array_equal(read, window.reshape(-1))
