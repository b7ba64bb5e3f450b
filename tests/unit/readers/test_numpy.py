"""Arrays from NumPy files, compared with NVIDIA DALI."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.schema.cases import Case, PerSample
from tests.conformance.harness import compare, run

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

DTYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven files in a folder and its sub-folders, of different shapes, two of them in Fortran order."""
    rng = np.random.default_rng(0)
    for index, name in enumerate(("b.npy", "A.npy", "sub/d.npy", "sub/a.npy", "Sub2/x.npy", ".hidden.npy", "zz.npy")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        array = rng.random((4 + index, 6 + index % 3)).astype(np.float32)
        np.save(path, np.asfortranarray(array) if index % 3 == 1 else array)
    (tmp_path / "sub" / "deep").mkdir()
    np.save(tmp_path / "sub" / "deep" / "q.npy", np.zeros((1, 1), np.float32))
    with open(tmp_path / "a.NPY", "wb") as file:
        np.save(file, np.zeros((1, 1), np.float32))
    return tmp_path


def agree(arguments: dict[str, Any], batches: int = 4, batch_size: int = 3) -> None:
    case = Case((), arguments, batches=batches, batch_size=batch_size)
    compare(
        run(dali_lab, "readers.numpy", case, batches=batches), run(dali, "readers.numpy", case, batches=batches), case
    )


def test_names_of_files(folder: Path) -> None:
    names = []
    for package in (dali_lab, dali):
        pipeline = package.Pipeline(6, 1, None)
        with pipeline:
            arrays = package.fn.readers.numpy(file_root=str(folder))
            pipeline.set_outputs(package.fn.get_property(arrays, key="source_info"))
        (found,) = pipeline.run()
        names.append([bytes(np.array(found.at(index))) for index in range(6)])
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"file_filter": "*.NPY"},
        {"file_filter": "[bz]*.npy"},
        {"random_shuffle": True, "seed": 7},
        {"random_shuffle": True, "initial_fill": 2, "seed": 3},
        {"shuffle_after_epoch": True},
        {"num_shards": 2, "shard_id": 1},
        {"num_shards": 3, "shard_id": 1, "stick_to_shard": True, "pad_last_batch": True},
        {"cache_header_information": True},
    ],
)
def test_files_and_their_order(folder: Path, arguments: dict[str, Any]) -> None:
    agree({"file_root": str(folder), **arguments}, batches=9)


def test_given_files_and_lists(folder: Path) -> None:
    agree({"file_root": str(folder), "files": ["sub/d.npy", "b.npy"]})
    agree({"files": [str(folder / "sub/d.npy"), str(folder / "zz.npy")]})
    listed = folder / "list.txt"
    listed.write_text("sub/d.npy\n\nb.npy\nA.npy")
    agree({"file_list": str(listed)})
    agree({"file_list": str(listed), "file_root": str(folder)})


@pytest.mark.parametrize(
    "arguments",
    [
        {"roi_start": [1, 2], "roi_end": [3, 5]},
        {"roi_start": [1], "roi_axes": [1]},
        {"roi_start": [1], "roi_axes": [-1]},
        {"roi_start": [1, 1], "roi_shape": [2, 3], "roi_axes": [1, 0]},
        {"roi_shape": [2], "roi_axes": [0]},
        {"roi_end": [2, 2]},
        {"rel_roi_start": [0.3, 0.2], "rel_roi_shape": [0.5, 0.5]},
        {"rel_roi_start": [0.3, 0.25], "rel_roi_end": [0.75, 0.77]},
        {"rel_roi_start": [0.175, 0.225], "rel_roi_shape": [0.175, 0.225]},
        {"rel_roi_shape": [0.35, 0.7]},
        {"rel_roi_end": [0.65, 0.45]},
        {"roi_start": [1, 1], "rel_roi_end": [0.75, 0.77]},
        {"rel_roi_start": [0.2, 0.1], "roi_end": [4, 5]},
        {"roi_start": [1, 1], "roi_end": [1, 3]},
        {"roi_start": [1, 1], "roi_shape": [9, 9], "out_of_bounds_policy": "pad", "fill_value": -7.5},
        {"roi_start": [-1, 1], "roi_shape": [9, 3], "out_of_bounds_policy": "trim_to_shape"},
        {"roi_start": [-1, 1], "roi_shape": [9, 3], "out_of_bounds_policy": "pad"},
        {"roi_start": PerSample([np.array(row, np.int32) for row in ((1, 1), (0, 2), (2, 0))]), "roi_shape": [2, 2]},
        {"rel_roi_end": PerSample([np.array(row, np.float32) for row in ((0.5, 1), (0.2, 0.7), (1, 0.3))])},
    ],
)
def test_regions(folder: Path, arguments: dict[str, Any]) -> None:
    agree({"file_root": str(folder), **arguments})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(tmp_path: Path, dtype: str, order: str) -> None:
    block = np.arange(24).reshape(2, 3, 4).astype(dtype)
    np.save(tmp_path / "block.npy", np.asarray(block, order=order))
    agree({"file_root": str(tmp_path)}, batches=1)
    np.save(tmp_path / "block.npy", block[:0])
    agree({"file_root": str(tmp_path)}, batches=1)


def test_single_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "number.npy", np.float32(3))
    agree({"file_root": str(tmp_path)}, batches=1)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_decoder_reads_all_orders_and_versions(version: tuple[int, int], order: str) -> None:
    """NVIDIA DALI's decoder takes version 1.0 alone, and Fortran order only with a GPU."""
    block = np.asarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4), order=order)
    file = io.BytesIO()
    np.lib.format.write_array(file, block, version=version)
    encoded = np.frombuffer(file.getvalue(), np.uint8)
    with dali_lab.Pipeline(2, 1, None) as pipeline:
        pipeline.set_outputs(fn.decoders.numpy(fn.external_source(lambda: [encoded, encoded])))
    (result,) = pipeline.run()
    np.testing.assert_array_equal(result.as_array(), np.stack([block, block]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"file_root": "nowhere"}, ("file_root", "nowhere")),
        ({"files": ["nowhere.npy"]}, ("nowhere.npy", "cannot read")),
        ({}, ("file_root", "must be given")),
        ({"roi_start": [1, 1], "roi_shape": [99, 2]}, ("leaves the sample", "100")),
        ({"roi_start": [1, 1], "rel_roi_start": [0.5, 0.5]}, ("rel_roi_start", "roi_start")),
        ({"roi_end": [1, 1], "roi_shape": [1, 1]}, ("roi_shape", "roi_end")),
        ({"roi_start": [1, 1, 1]}, ("roi_start", "3")),
        ({"roi_start": [1], "roi_axes": [5]}, ("roi_axes", "5")),
        ({"roi_start": [1, 1], "roi_axes": [0, 0]}, ("roi_axes", "twice")),
        ({"roi_start": [3, 1], "roi_end": [2, 2]}, ("ends before it starts",)),
        ({"num_shards": 2, "shard_id": 2}, ("shard_id", "2")),
    ],
)
def test_errors_name_the_culprit(folder: Path, arguments: dict[str, Any], words: tuple[str, ...]) -> None:
    where = {} if not arguments or {"file_root", "files"} & set(arguments) else {"file_root": str(folder)}
    with pytest.raises(dali_lab.DaliLabError) as caught:
        run(dali_lab, "readers.numpy", Case((), {**where, **arguments}))
    for word in ("readers.numpy", *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"hello world, this is text", "not a NumPy file"),
        (b"", "not a NumPy file"),
        (b"\x93NUMPY\x01\x00\x76\x00{'descr'", "within its header"),
        (b"\x93NUMPY\x01\x00\x06\x00{'a':\n", "damaged"),
        (b"\x93NUMPY\x09\x00\x06\x00{'a':\n..", "version 9"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "bad.npy").write_bytes(content)
    with pytest.raises(dali_lab.DaliLabError) as caught:
        run(dali_lab, "readers.numpy", Case((), {"file_root": str(tmp_path)}))
    assert word in str(caught.value)
    assert "bad.npy" in str(caught.value)


@pytest.mark.parametrize("array", [np.zeros(3, np.float32), np.zeros((2, 2), np.int16)])
def test_files_that_do_not_go_together(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.float32))
    np.save(tmp_path / "b.npy", array)
    with pytest.raises(dali_lab.DaliLabError, match=r"must agree|b\.npy"):
        run(dali_lab, "readers.numpy", Case((), {"file_root": str(tmp_path)}, batch_size=2))


def run_several(pipeline: dali_lab.Pipeline) -> None:
    """More batches than were in flight."""
    for _ in range(3):
        pipeline.run()


def stored(tmp_path: Path, count: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Files of random float32 arrays in both orders."""
    rng = np.random.default_rng(1)
    arrays = [rng.random(shape, dtype=np.float32) for _ in range(count)]
    for index, array in enumerate(arrays):
        np.save(tmp_path / f"{index:02}.npy", array if index % 2 else np.asfortranarray(array))
    return arrays


@pytest.mark.parametrize("arguments", [{}, {"cache_header_information": True}])
def test_large_files_and_regions_of_them(tmp_path: Path, arguments: dict[str, Any]) -> None:
    arrays = stored(tmp_path, 6, (130, 140))
    with dali_lab.Pipeline(3, 2, None) as pipeline:
        pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path), **arguments))
    for _ in range(3):
        for start in (0, 3):
            (batch,) = pipeline.run()
            for index in range(3):
                np.testing.assert_array_equal(batch.at(index), arrays[start + index])
    region = {"roi_start": [3, 5], "roi_end": [100, 77]}
    with dali_lab.Pipeline(6, 2, None) as pipeline:
        pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path), **region, **arguments))
    (batch,) = pipeline.run()
    for index in range(6):
        np.testing.assert_array_equal(batch.at(index), arrays[index][3:100, 5:77])


def test_writing_into_a_batch_leaves_files_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((200, 200), np.float32))
    with dali_lab.Pipeline(1, 1, None) as pipeline:
        pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path)))
    (batch,) = pipeline.run()
    held = batch.at(0)
    held[:] = 5
    assert (np.load(tmp_path / "a.npy") == 1).all()
    (batch,) = pipeline.run()
    assert (batch.at(0) == 1).all()
    del batch, pipeline
    assert (held == 5).all()


@pytest.mark.parametrize("seed", range(6))
def test_regions_of_arrays_of_all_shapes(tmp_path: Path, seed: int) -> None:
    """Regions that are rows, far apart or close together, whole axes, single elements and nothing."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(extent) for extent in rng.choice((1, 2, 7, 40, 300, 3000), rng.integers(1, 4)))
    while math.prod(shape) > 10_000_000:  # no larger: only the steps between rows matter
        shape = (7, *shape[1:]) if shape[0] > 7 else (*shape[:-1], 300)
    arrays = [rng.integers(0, 255, shape, np.uint8) for _ in range(4)]
    for index, array in enumerate(arrays):
        np.save(tmp_path / f"{index}.npy", array if rng.integers(2) else np.asfortranarray(array))
    for _ in range(4):
        start = rng.integers(0, shape, len(shape))
        extent = rng.integers(0, np.array(shape) - start + 1)
        start[rng.integers(len(shape))] = 0
        with dali_lab.Pipeline(4, 2, None) as pipeline:
            region = {"roi_start": start.tolist(), "roi_shape": extent.tolist()}
            pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path), **region))
        (batch,) = pipeline.run()
        window = tuple(slice(a, a + n) for a, n in zip(start, extent, strict=True))
        for index, array in enumerate(arrays):
            np.testing.assert_array_equal(batch.at(index), array[window])


def test_a_file_that_was_cut_short_is_named(tmp_path: Path) -> None:
    """Also when its header was kept from the time when it was whole."""
    np.save(tmp_path / "a.npy", np.ones((200, 200), np.float32))
    with dali_lab.Pipeline(1, 1, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path), cache_header_information=True))
    pipeline.run()
    with open(tmp_path / "a.npy", "r+b") as file:
        file.truncate(5000)
    with pytest.raises(dali_lab.DaliLabError, match=r"a\.npy"):
        run_several(pipeline)


@pytest.mark.parametrize("length", [300, 1000])
def test_long_headers_and_unusual_places(tmp_path: Path, length: int) -> None:
    """Headers padded beyond what is looked at at once, and elements that do not lie on their own boundary."""
    array = np.arange(30_000, dtype=np.float32)
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(array)},), }}"
    for pad in (0, 1, 3):
        header = text.ljust(length + pad).encode()
        path = tmp_path / "a.npy"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + array.tobytes())
        with dali_lab.Pipeline(1, 1, None) as pipeline:
            pipeline.set_outputs(fn.readers.numpy(file_root=str(tmp_path)))
        (batch,) = pipeline.run()
        np.testing.assert_array_equal(batch.at(0), array)


@pytest.mark.parametrize("other", [np.zeros((2, 3, 4), np.float32), np.zeros((2, 3), np.int32)])
def test_decoded_arrays_of_one_pipeline_have_one_kind(other: np.ndarray[Any, Any]) -> None:
    def encoded(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
        file = io.BytesIO()
        np.save(file, array)
        return np.frombuffer(file.getvalue(), np.uint8)

    files = [encoded(array) for array in (np.ones((2, 3), np.float32), other, np.zeros((1, 5), np.float32))]
    pipeline = dali_lab.Pipeline(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(fn.decoders.numpy(fn.external_source(source=files, batch=False)))
    assert pipeline.run()[0].as_array().shape == (1, 2, 3)
    with pytest.raises(dali_lab.errors.OperatorError, match="those before it had 2 dimensions of FLOAT"):
        pipeline.run()
    assert pipeline.run()[0].as_array().shape == (1, 1, 5)
