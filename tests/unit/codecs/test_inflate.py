"""Decompressed samples equal the originals."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import imagecodecs
import numpy as np
import pytest

import dali_lab
from dali_lab import fn, types
from dali_lab.codecs import unpacking
from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.machine import uses
from dali_lab.schema.cases import Case, PerSample
from tests.conformance.harness import run


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "lz4": ("LZ4", imagecodecs.lz4_encode),
    "zlib": ("DEFLATE", zlib.compress),
    "gzip": ("DEFLATE", gzip.compress),
    "deflate": ("DEFLATE", raw_deflate),
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_one_chunk(packer: str, dtype: type) -> None:
    algorithm, pack = PACKERS[packer]
    arrays = [np.arange(n * 6).reshape(n, 6).astype(dtype) for n in (40, 3, 0)]
    packed = [np.frombuffer(pack(array.tobytes()), np.uint8) for array in arrays]
    shapes = PerSample([np.array(array.shape, np.int32) for array in arrays])
    kind = getattr(
        types, {"uint8": "UINT8", "int16": "INT16", "float32": "FLOAT", "float64": "FLOAT64"}[dtype.__name__]
    )
    arguments = {"shape": shapes, "dtype": kind, "algorithm": algorithm, "layout": "HW"}
    ((result,),) = run(dali_lab, "decoders.inflate", Case((packed,), arguments))
    assert result["layout"] == "HW"
    for got, array in zip(result["samples"], arrays, strict=True):
        np.testing.assert_array_equal(got, array, strict=True)


@pytest.mark.parametrize("by", ["sizes", "offsets", "both"])
def test_several_chunks(by: str) -> None:
    """Frames that were packed one by one, as in NVIDIA DALI's documentation."""
    sequences = [np.random.default_rng(n).integers(0, 9, (n, 4, 5, 3)).astype(np.uint8) for n in (1, 4)]
    frames = [[imagecodecs.lz4_encode(frame.tobytes()) for frame in sequence] for sequence in sequences]
    packed = [np.frombuffer(b"".join(row), np.uint8) for row in frames]
    sizes = [np.array([len(frame) for frame in row], np.int32) for row in frames]
    offsets = [np.cumsum(row) - row for row in sizes]
    with dali_lab.Pipeline(2, 1, None) as pipeline:
        options = {}
        if by in ("sizes", "both"):
            options["chunk_sizes"] = fn.external_source(lambda: sizes)
        if by in ("offsets", "both"):
            options["chunk_offsets"] = fn.external_source(lambda: [row.astype(np.int32) for row in offsets])
        data = fn.external_source(lambda: packed)
        pipeline.set_outputs(fn.decoders.inflate(data, shape=(4, 5, 3), layout="HWC", **options))
    (result,) = pipeline.run()
    assert result.layout() == "FHWC"
    for index, sequence in enumerate(sequences):
        np.testing.assert_array_equal(np.array(result.at(index)), sequence)


@pytest.mark.skipif(not uses("libraries"), reason="chunks are unpacked one by one then")
@pytest.mark.parametrize("packer", PACKERS)
def test_many_chunks_at_once(packer: str) -> None:
    """One damaged chunk among many is told by itself; the others are what was packed."""
    algorithm, pack = PACKERS[packer]
    chunks = [np.random.default_rng(n).integers(0, 5, 40 + n).astype(np.uint8) for n in range(60)]
    packed = [np.frombuffer(pack(chunk.tobytes()), np.uint8) for chunk in chunks]
    results = [np.full(len(chunk), 7, np.uint8) for chunk in chunks]
    packed[17] = packed[17][: len(packed[17]) // 2]
    columns = [
        np.array([array.ctypes.data for array in packed]),
        np.array([len(array) for array in packed]),
        np.array([array.ctypes.data for array in results]),
        np.array([len(array) for array in results]),
    ]
    made = unpacking.unpack(algorithm, *columns)
    assert np.flatnonzero(made != columns[3]).tolist() == [17]
    with pytest.raises(CodecError):
        unpacking.unpack_one(algorithm, packed[17], results[17])
    for index, chunk in enumerate(chunks):
        if index != 17:
            np.testing.assert_array_equal(results[index], chunk)


@pytest.mark.parametrize("packer", PACKERS)
def test_without_the_libraries(packer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_functions", lambda algorithm: None)
    test_one_chunk(packer, np.int16)


@pytest.mark.parametrize("kind", ["zlib", "gzip"])
def test_a_missing_checksum_is_no_error(kind: str) -> None:
    """zlib has given all the bytes by then; libdeflate alone would refuse them."""
    data = bytes(range(200)) * 3
    packed = np.frombuffer(PACKERS[kind][1](data)[:-3], np.uint8)
    ((result,),) = run(dali_lab, "decoders.inflate", Case(([packed],), {"shape": (600,), "algorithm": "DEFLATE"}))
    assert result["samples"][0].tobytes() == data
