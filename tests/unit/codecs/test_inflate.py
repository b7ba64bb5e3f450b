"""Unpacked samples are what was packed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import imagecodecs
import numpy as np
import pytest

import dali_lab
from dali_lab import fn, types
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
