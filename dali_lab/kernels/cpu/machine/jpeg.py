"""JPEG pictures of a chunk decoded by libjpeg-turbo from compiled code: whole or in part, turned, without the GIL.

The library's functions come as addresses (:mod:`dali_lab.codecs.backends.libjpeg`), its structures as memory with known
offsets, which are the same in all of its binary interfaces. It reports errors by a function that must not return: here
that function, and the one for warnings, go back to where the picture was begun, as C programs do with `setjmp`. Nothing
between the two may own memory: functions that begin take addresses and no arrays, whose references would be given back
twice.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine.emission import Builder, Value, emitted, function_of, of_integers
from dali_lab.kernels.cpu.machine.foreign import call1, call2, call3
from dali_lab.kernels.cpu.machine.huffman import READER, READER_SIZE, ran_out
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part

FUNCTIONS = (
    "jpeg_std_error",
    "jpeg_CreateDecompress",
    "jpeg_mem_src",
    "jpeg_read_header",
    "jpeg_start_decompress",
    "jpeg_crop_scanline",
    "jpeg_skip_scanlines",
    "jpeg_read_scanlines",
    "jpeg_finish_decompress",
    "jpeg_destroy_decompress",
)
"""Functions in the table of addresses, in this order."""
(
    _STD_ERROR, _CREATE, _SOURCE, _HEADER, _START, _CROP, _SKIP, _READ, _FINISH, _DESTROY,
) = range(len(FUNCTIONS))  # fmt: skip
_INSTALL = len(FUNCTIONS)
_COUNT = _INSTALL + 1

GRAY, RGB, BGR = 1, 2, 8
"""The library's names for the colours that it can give."""
COLORS = {"GRAY": GRAY, "RGB": RGB, "BGR": BGR}

# Offsets in jpeg_decompress_struct and jpeg_error_mgr, in bytes.
_ERROR, _MEMORY, _CLIENT, _WIDTH, _HEIGHT, _COLOR = 0, 8, 24, 48, 52, 64
_TRANSFORM, _OUT_WIDTH, _OUT_HEIGHT, _COMPONENTS = 96, 136, 140, 148
_LEAVE, _MESSAGE = 0, 8
_FAST_TRANSFORM = 1
_NO_MORE = -1
"""The answer about a picture whose data end too early, with any reader."""

# Parts of the memory that a chunk works in.
_MANAGER, _JUMP, _SCALARS, _ROWS = 1024, 1536, 2816, 2880
STATE = -(-(READER + READER_SIZE) // 64) * 64
_AT_ONCE = 16
"""Rows that are read, or turned, together."""
_MOST_KEPT = 1 << 20
"""Bytes of memory that a thread keeps."""
_threads = threading.local()
_MARGIN = 16
"""Columns decoded on either side of a window: colours are interpolated across its edge."""

_i32, _i64, _byte = ir.IntType(32), ir.IntType(64), ir.IntType(8)
_pointer = _byte.as_pointer()
like_words, like_halves, like_bytes = like(np.int64), like(np.uint32), like(np.uint8)


@emitted(lambda _: nb_types.int32(nb_types.int64))
def _begin(builder: Builder, place: Value) -> Value:
    """Note the present state of the thread at an address: 0, and not 0 when :func:`_leave` comes back to it."""
    begin = function_of(builder.module, "_setjmp", _i32, [_pointer])
    begin.attributes.add("returns_twice")
    return builder.call(begin, [builder.inttoptr(place, _pointer)])


def _leaving(module: ir.Module, name: str, warnings: bool) -> Value:
    """A C function that goes back to where `client_data` says; one for messages, if they are warnings."""
    found = module.globals.get(name)
    if found is not None:
        return found
    kind = ir.FunctionType(ir.VoidType(), [_pointer, _i32] if warnings else [_pointer])
    made = ir.Function(module, kind, name)
    made.linkage = "internal"
    builder = ir.IRBuilder(made.append_basic_block())
    if warnings:
        with builder.if_then(builder.icmp_signed(">=", made.args[1], _i32(0))):
            builder.ret_void()
    place = builder.load(builder.bitcast(builder.gep(made.args[0], [_i64(_CLIENT)]), _pointer.as_pointer()), align=8)
    builder.call(function_of(module, "longjmp", ir.VoidType(), [_pointer, _i32]), [place, _i32(1)])
    builder.unreachable()
    return made


@emitted(of_integers())
def _set_handlers(builder: Builder, manager: Value) -> None:
    """Let an error manager leave the picture at errors and warnings."""
    module = builder.module
    for offset, name, warnings in (
        (_LEAVE, "dali_lab_jpeg_leave", False),
        (_MESSAGE, "dali_lab_jpeg_message", True),
    ):
        function = builder.ptrtoint(_leaving(module, name, warnings), _i64)
        place = builder.add(manager, _i64(offset))
        builder.store(function, builder.inttoptr(place, _i64.as_pointer()))


_memcpy: Any = nb_types.ExternalFunction("memcpy", nb_types.intp(nb_types.intp, nb_types.intp, nb_types.intp))


@part
def _create(table: int, state: int, version: int, size: int) -> Any:
    """Make a decompressor at `state`; whether the binary interface of this version and size is the library's."""
    functions = array_at(table, (_COUNT,), like_words)
    words = array_at(state, (STATE // 8,), like_words)
    words[_MEMORY // 8] = 0
    if _begin(state + _JUMP) != 0:
        return False
    words[_ERROR // 8] = call1(functions[_STD_ERROR], state + _MANAGER)
    words[_CLIENT // 8] = state + _JUMP
    _set_handlers(state + _MANAGER)
    call3(functions[_CREATE], state, version, size)
    return True


@part
def _walk(orientation: int, height: int, width: int, channels: int) -> Any:
    """The place of a stored picture's first pixel, and the bytes to the one below it and the one beside it."""
    turned = orientation >= 5
    down, along = (width, height) if turned else (height, width)
    to_next_row, to_next_column = along * channels, channels
    first = 0
    if orientation == 3 or orientation == 4 or orientation == 7 or orientation == 8:
        first += (down - 1) * to_next_row
        to_next_row = -to_next_row
    if orientation == 2 or orientation == 3 or orientation == 6 or orientation == 7:
        first += (along - 1) * to_next_column
        to_next_column = -to_next_column
    return (first, to_next_column, to_next_row) if turned else (first, to_next_row, to_next_column)


@inner_part
def _put_line(source: Array, at: int, step: int, target: Array, to: int, pitch: int, count: int, channels: int) -> None:
    """Copy a line of pixels from places `step` bytes apart to places `pitch` bytes apart."""
    for _ in range(count):
        if channels == 3:
            target[np.uintp(to)] = source[np.uintp(at)]
            target[np.uintp(to + 1)] = source[np.uintp(at + 1)]
            target[np.uintp(to + 2)] = source[np.uintp(at + 2)]
        else:
            target[np.uintp(to)] = source[np.uintp(at)]
        at += step
        to += pitch


@part
def _put(lines: int, pitch: int, count: int, width: int, channels: int, out: int, below: int, beside: int) -> None:
    """Copy stored rows to where their pixels go: `below` and `beside` are the bytes between neighbours there."""
    if beside == channels:
        for k in range(count):
            _memcpy(out + k * below, lines + k * pitch, width * channels)
        return
    # The first pixel may lie above the others: the array begins at the lowest.
    first = -min(0, (count - 1) * below) - min(0, (width - 1) * beside)
    size = abs((count - 1) * below) + abs((width - 1) * beside) + channels
    source = array_at(lines, (count * pitch,), like_bytes)
    target = array_at(out - first, (size,), like_bytes)
    # Along the rows of the result.
    if abs(below) == channels:
        if channels == 3:
            for x in range(width):
                _put_line(source, x * 3, pitch, target, first + x * beside, below, count, 3)
        else:
            for x in range(width):
                _put_line(source, x, pitch, target, first + x * beside, below, count, 1)
    elif channels == 3:
        for k in range(count):
            _put_line(source, k * pitch, 3, target, first + k * below, beside, width, 3)
    else:
        for k in range(count):
            _put_line(source, k * pitch, 1, target, first + k * below, beside, width, 1)


@part
def _decode(
    table: int, state: int, version: int, data: int, size: int, sizes: int, box: int, orientation: int, color: int,
    fast: bool, out: int, room: int, loose: int,
) -> Any:  # fmt: skip
    """Decode one picture of a known shape: 1 or 2 if that went without error or warning, otherwise 0.

    With a `version` of the library's binary interface, codes are read by
    :mod:`~dali_lab.kernels.cpu.machine.huffman` where they can be (2), with 0 by the library (1); :data:`_NO_MORE` says
    that neither can read them.
    `loose` is 0 for rows without gaps. Otherwise rows of an upright picture may be wider than the window, so that they
    need not be copied, and the address of its first pixel and the bytes from row to row are written to
    ``int64[2]`` at this address.
    """
    functions = array_at(table, (_COUNT,), like_words)
    shape = array_at(sizes, (3,), like_words)
    window = array_at(box, (4,), like_words)
    lines = state + STATE
    halves = array_at(state, (STATE // 4,), like_halves)
    words = array_at(state, (STATE // 8,), like_words)
    if _begin(state + _JUMP) != 0:
        return 0
    call3(functions[_SOURCE], state, data, size)
    call2(functions[_HEADER], state, 1)
    if halves[_HEIGHT // 4] != shape[0] or halves[_WIDTH // 4] != shape[1]:
        return 0
    halves[_COLOR // 4] = color
    if fast and orientation == 1:
        halves[_TRANSFORM // 4] = _FAST_TRANSFORM
    call1(functions[_START], state)
    own_reader = version != 0 and call2(functions[_INSTALL], state, version) & 0xFFFFFFFF != 0
    channels = shape[2]
    if halves[_OUT_HEIGHT // 4] != shape[0] or halves[_OUT_WIDTH // 4] != shape[1]:
        return 0
    if halves[_COMPONENTS // 4] != channels:
        return 0
    top, left, bottom, right = window[0], window[1], window[2], window[3]
    whole = right - left == shape[1] and bottom - top == shape[0]
    start = max(left - _MARGIN, 0)
    width = min(right + _MARGIN, shape[1]) - start
    if width < shape[1]:
        halves[_SCALARS // 4] = start
        halves[_SCALARS // 4 + 1] = width
        call3(functions[_CROP], state, state + _SCALARS, state + _SCALARS + 4)
        start = np.int64(halves[_SCALARS // 4])
        width = np.int64(halves[_SCALARS // 4 + 1])
        if start > left or start + width < right or halves[_OUT_WIDTH // 4] != width:
            return 0
    if top > 0 and call2(functions[_SKIP], state, top) & 0xFFFFFFFF != top:
        return 0
    first, below, beside = _walk(orientation, bottom - top, right - left, channels)
    pitch = width * channels
    direct = width == right - left and beside == channels
    if loose != 0:
        if beside != channels or below < 0:
            return 0
        direct = True
        below = pitch
        found = array_at(loose, (2,), like_words)
        found[0] = out + (left - start) * channels
        found[1] = pitch
    if pitch * _AT_ONCE > room:
        return 0
    y: Any = top
    waiting: Any = 0
    while y < bottom:
        wanted = min(_AT_ONCE - waiting, bottom - y)
        for k in range(wanted):
            words[_ROWS // 8 + k] = out + first + (y - top + k) * below if direct else lines + (waiting + k) * pitch
        ready = call3(functions[_READ], state, state + _ROWS, wanted) & 0xFFFFFFFF
        if ready == 0 or ready > wanted:
            return _NO_MORE if own_reader and ran_out(state) else 0
        y += ready
        if direct:
            continue
        waiting += ready
        if waiting == _AT_ONCE or y == bottom:
            _put(
                lines + (left - start) * channels, pitch, waiting, right - left, channels,
                out + first + (y - waiting - top) * below, below, beside,
            )  # fmt: skip
            waiting = 0
    if orientation != 1 and bottom < shape[0]:
        # Rows that are skipped are looked at if others follow.
        last = shape[0] - 1
        if bottom < last and call2(functions[_SKIP], state, last - bottom) & 0xFFFFFFFF != last - bottom:
            return 0
        words[_ROWS // 8] = lines
        if call3(functions[_READ], state, state + _ROWS, 1) & 0xFFFFFFFF != 1:
            return 0
    if whole or orientation != 1:
        call1(functions[_FINISH], state)
    return 2 if own_reader else 1


@part
def decode_loosely(
    functions: Array, structures: Array, memory: Array, data: int, size: int, sizes: int, box: int, color: int,
    fast: bool, out: int, place: Array,
) -> Any:  # fmt: skip
    """Decode a window of an upright picture into memory for as many rows of the whole picture.

    `place` gets the address of the window's first pixel and the bytes from one row to the next; the other parameters
    are those of :func:`decode` and addresses of one row of its tables. The structures must be the library's. Returns
    whether the picture was decoded without error or warning.
    """
    state = (memory.ctypes.data + 63) // 64 * 64
    table = functions.ctypes.data
    room = memory.shape[0] * 8 - STATE - 64
    for version in (structures[0], 0):
        _create(table, state, structures[0], structures[1])
        good = _decode(table, state, version, data, size, sizes, box, 1, color, fast, out, room, place.ctypes.data)
        call1(functions[_DESTROY], state)
        if good != 0:
            return good > 0
    return False


@kernel
def decode(
    functions: Array, structures: Array, addresses: Array, lengths: Array, shapes: Array, windows: Array,
    orientations: Array, colors: Array, fast: bool, outs: Array, done: Array, memory: Array,
) -> Any:  # fmt: skip
    """Decode JPEG pictures of 8 bits into memory that is ready for them.

    Parameters
    ----------
    functions
        ``int64``: addresses of :data:`FUNCTIONS`, and that of :func:`~dali_lab.kernels.cpu.machine.huffman.installer`.
    structures
        ``int64[2]``: version of the library's binary interface, and the size of its structure.
    addresses, lengths
        ``int64[N]``: the files' bytes.
    shapes
        ``int64[N, 3]``: height, width and channels of the whole pictures as stored, as their headers say.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)`` of what is wanted, within the picture as stored and not empty.
    orientations
        ``int64[N]``: how to turn each window on its way into `outs`, as EXIF counts, 1 to 8.
    colors
        ``int64[N]``: :data:`GRAY`, :data:`RGB` or :data:`BGR`.
    fast
        Use the faster, less exact inverse transform, except for pictures that are turned: NVIDIA DALI's decoder for
        those has none.
    outs
        ``int64[N]``: where each window goes, rows of pixels without gaps.
    done
        ``int64[N]``: set to 1 where the picture was decoded without error or warning, to 2 if its codes were read by
        :mod:`~dali_lab.kernels.cpu.machine.huffman`. What is below the window is not
        looked at, except in pictures that are turned, which NVIDIA DALI decodes as a whole.
    memory
        ``int64``: from :func:`memory_for`, to work in.

    Returns
    -------
    bool
        Whether the library can be used at all.
    """
    state = (memory.ctypes.data + 63) // 64 * 64
    table = functions.ctypes.data
    room = memory.shape[0] * 8 - STATE - 64
    usable = room >= 0 and _create(table, state, structures[0], structures[1])
    if usable:
        call1(functions[_DESTROY], state)
        for i in range(addresses.shape[0]):
            for version in (structures[0], 0):
                # One decompressor for each: some builds of the library lose their place when one is used again.
                _create(table, state, structures[0], structures[1])
                done[i] = _decode(
                    table, state, version, addresses[i], lengths[i], shapes.ctypes.data + i * 24,
                    windows.ctypes.data + i * 32, orientations[i], colors[i], fast, outs[i], room, 0,
                )  # fmt: skip
                call1(functions[_DESTROY], state)
                if done[i] != 0:
                    break
            done[i] = max(done[i], 0)
    return usable


def memory_for(row_bytes: int) -> Array:
    """The memory in which :func:`decode` works on this thread, for rows of so many bytes.

    A thread keeps it, with the tables of codes that it holds: pictures mostly have the same codes.
    """
    size = (STATE + 64 + row_bytes * _AT_ONCE + 7) // 8
    kept: Array | None = getattr(_threads, "memory", None)
    if kept is None or len(kept) < size:
        kept = np.zeros(size, np.int64)
        if kept.nbytes <= _MOST_KEPT:
            _threads.memory = kept
    return kept
