"""Compressed bytes of a chunk unpacked in one call, without the GIL: LZ4 and deflate.

LZ4 and libdeflate are those that imagecodecs brings along. Where they are not found, and to say what is wrong with
bytes that they refuse, :func:`unpack_one` takes imagecodecs and zlib, one chunk of bytes at a time.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import bundled
from dali_lab.codecs.encoded import CodecError

ALGORITHMS = ("LZ4", "DEFLATE")
Table = npt.NDArray[np.int64]


def unpack(algorithm: str, addresses: Table, packed: Table, outs: Table, sizes: Table) -> Table:
    """Unpack chunks of bytes into memory that is ready for them.

    Parameters
    ----------
    algorithm
        One of :data:`ALGORITHMS`.
    addresses, packed
        ``int64[N]``: where the compressed bytes are, and how many.
    outs, sizes
        ``int64[N]``: where the results go, and the bytes that each has room for.

    Returns
    -------
    numpy.ndarray
        ``int64[N]``: how many bytes each became; negative for those that :func:`unpack_one` has to look at.
    """
    from dali_lab.kernels.cpu import unpack as kernels
    from dali_lab.kernels.cpu.memory import rows

    made = np.full(len(addresses), -1, np.int64)
    found = _functions(algorithm)
    if found is not None:
        function = kernels.unpack_lz4 if algorithm == "LZ4" else kernels.unpack_deflate
        function(found[1], rows(addresses), rows(packed), rows(outs), rows(sizes), made)
    return made


def unpack_one(algorithm: str, packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]) -> int:
    """Unpack one chunk of bytes into `target`; the number of bytes that it held, at most one more than fit.

    Raises
    ------
    CodecError
        If it cannot be unpacked, saying why.
    """
    try:
        return _lz4(packed, target) if algorithm == "LZ4" else _deflate(packed, target)
    except (RuntimeError, ValueError, zlib.error) as error:
        raise CodecError(str(error)) from error


@functools.cache
def _functions(algorithm: str) -> tuple[Any, Table] | None:
    """The library of an algorithm, which stays loaded, and the addresses of its functions."""
    from dali_lab.kernels.cpu import unpack as kernels

    pattern, names = ("liblz4-*.so*", kernels.LZ4) if algorithm == "LZ4" else ("libdeflate-*.so*", kernels.DEFLATE)
    return next(bundled.libraries(pattern, names), None)


def _lz4(packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]) -> int:
    try:
        import imagecodecs
    except ImportError:
        raise CodecError("LZ4 takes imagecodecs, which is not installed: pip install 'dali-lab[images]'") from None
    decode: Any = imagecodecs.lz4_decode  # its annotations leave arrays out
    return len(decode(packed, out=target))


def _deflate(packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]) -> int:
    data, size = packed.tobytes(), len(target)
    last: zlib.error | None = None
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        unpacker = zlib.decompressobj(bits)
        try:
            raw = unpacker.decompress(data, size + 1)
        except zlib.error as error:
            last = last or error
            continue
        if len(raw) < size and not unpacker.eof:
            raise ValueError("the data end too early")
        if len(raw) == size:
            target[:] = np.frombuffer(raw, np.uint8)
        return len(raw)
    assert last is not None
    raise last
