"""Pictures in lists, decoded as operators do it: arrays, and the reasons of failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.decoding import decode as run
from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import read_headers
from dali_lab.codecs.job import Job
from dali_lab.codecs.plan import Wanted
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, to_dali_type

Array = npt.NDArray[Any]
COMPILED = ("libjpeg", "rasters")
"""Backends of compiled code, which write to memory at addresses."""
_AROUND = 32


def batch(files: Sequence[bytes]) -> Batch:
    """Files as a batch of bytes."""
    return Batch.of([np.frombuffer(data, np.uint8) for data in files]) if files else Batch.empty(UINT8, ndim=1)


def job(files: Sequence[bytes], regions: Any = None, without: Sequence[str] = (), **wanted: Any) -> Job:
    """The pictures to decode; `without` names backends that are left out of all routes."""
    data = batch(files)
    wanted["dtype"] = np.dtype(wanted.get("dtype", np.uint8))
    made = Job(data, read_headers(data), Wanted(**wanted), None if regions is None else np.array(regions, np.int64))
    made.routes = [tuple(step for step in route if not set(step) & set(without)) for route in made.routes]
    return made


def decode(
    files: Sequence[bytes], regions: Any = None, without: Sequence[str] = (), **wanted: Any
) -> tuple[list[Array | None], list[tuple[int, str]]]:
    """Arrays, `None` for pictures that failed, and index and reason of these; arguments as of :func:`job`."""
    made = job(files, regions, without, **wanted)
    failures = run(made, lambda shapes: Batch.allocate(shapes, to_dali_type(made.wanted.dtype), "HWC"))
    arrays = [None if index in failures else made.out.array(index) for index in range(len(files))]
    return arrays, [(index, str(failures[index])) for index in sorted(failures)]


def decode_one(data: bytes, region: tuple[int, int, int, int] | None = None, **wanted: Any) -> Array:
    """One picture, or a :class:`CodecError`."""
    (array,), failures = decode([data], None if region is None else [region], **wanted)
    if array is None:
        raise CodecError(failures[0][1])
    return array


def by_kernels(files: Sequence[bytes], regions: Any = None, **wanted: Any) -> list[Array | None]:
    """Pictures decoded by compiled code alone, `None` for others; asserts that nothing is written beside them."""
    made = job(files, regions, **wanted)
    blocks: list[Array] = []

    def allocate(shapes: Array) -> Batch:
        blocks.extend(np.full(int(size) + 2 * _AROUND, 7, np.uint8) for size in shapes.prod(axis=1))
        places = np.array([block.ctypes.data + _AROUND for block in blocks], np.int64)
        return Batch(places, shapes, UINT8, "HWC", tuple(blocks))

    made.routes = [tuple(step for step in route if step[0] in COMPILED) for route in made.routes]
    failures = run(made, allocate)
    for block in blocks:
        assert (block[:_AROUND] == 7).all()
        assert (block[-_AROUND:] == 7).all()
    return [None if index in failures else made.out.array(index) for index in range(len(files))]
