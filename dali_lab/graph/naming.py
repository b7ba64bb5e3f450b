"""Names of nodes from the names of variables: ``turned = fn.rotate(images)`` makes a node called ``turned``.

The name is read from the caller's bytecode: the variable that takes the result of the current call. So it needs no
source, and works in loops, helper functions and expressions alike.
"""

from __future__ import annotations

import bisect
import builtins
import contextlib
import dis
import functools
import keyword
from collections.abc import Container, Iterator
from contextvars import ContextVar
from types import CodeType, FrameType

RESERVED = frozenset({"fn", "math", "np", "ops", "pipeline_def", "types"})
"""Names that programs use for other things; ``input_``, written to avoid one, names a node ``input``."""

_suggestion: ContextVar[str | None] = ContextVar("suggestion", default=None)


@contextlib.contextmanager
def suggesting(name: str) -> Iterator[None]:
    """Suggest this name regardless of the calling code; for callers that are not the user's own code."""
    token = _suggestion.set(name)
    try:
        yield
    finally:
        _suggestion.reset(token)


_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR"})


def free_name(taken: Container[str], wanted: str) -> str:
    """A name that is not taken: the wanted one, or that with a number."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def suggested_name(frame: FrameType | None) -> str:
    """The name for the node that the call running in `frame` makes, or an empty text."""
    asked = _suggestion.get()
    return asked or "" if asked is not None or frame is None else node_name(_waiting(frame))


def suggested_names(frame: FrameType | None, count: int) -> tuple[str, ...]:
    """One name for each of a call's `count` results, if each goes to its own variable; otherwise empty."""
    if _suggestion.get() is not None or frame is None:
        return ()
    variables = _waiting(frame)
    return tuple(node_name((variable,)) for variable in variables) if len(variables) == count else ()


def _waiting(frame: FrameType) -> tuple[str, ...]:
    """The variables that take the result of the call that a frame waits for."""
    offsets, targets = _targets(frame.f_code)
    # A frame that waits for a call may point past the instruction, at its inline caches.
    place = bisect.bisect_right(offsets, frame.f_lasti) - 1
    return targets[place] if place >= 0 else ()


def node_name(variables: tuple[str, ...]) -> str:
    """The name for a node whose outputs go to these variables: the first meaningful one."""
    for variable in variables:
        if variable.strip("_"):
            plain = variable.rstrip("_")
            return plain if variable == f"{plain}_" and is_reserved(plain) else variable
    return ""


def is_reserved(name: str) -> bool:
    """Whether a variable of this name would hide something that programs use."""
    return keyword.iskeyword(name) or hasattr(builtins, name) or name in RESERVED


@functools.lru_cache(maxsize=1024)
def _targets(code: CodeType) -> tuple[list[int], list[tuple[str, ...]]]:
    """Offsets of the instructions, and the variables that take the result of each."""
    instructions = [item for item in dis.get_instructions(code) if item.opname != "CACHE"]
    targets = [_stored(instructions, _skip_moves(instructions, place + 1)) for place in range(len(instructions))]
    return [item.offset for item in instructions], targets


def _skip_moves(instructions: list[dis.Instruction], place: int) -> int:
    """Skip ``.gpu()`` and ``.cpu()`` after a call, and the copy that ``a = b = call()`` makes."""
    while place < len(instructions):
        item = instructions[place]
        if item.opname == "COPY" and item.arg == 1:
            place += 1
        elif item.opname in ("LOAD_METHOD", "LOAD_ATTR") and item.argval in ("gpu", "cpu"):
            place += 1
            while place < len(instructions) and instructions[place].opname in ("PRECALL", "PUSH_NULL"):
                place += 1
            if place >= len(instructions) or instructions[place].opname != "CALL":
                return place
            place += 1
        else:
            return place
    return place


def _stored(instructions: list[dis.Instruction], place: int) -> tuple[str, ...]:
    if place >= len(instructions):
        return ()
    wanted = 1
    if instructions[place].opname == "UNPACK_SEQUENCE":
        wanted = instructions[place].arg or 0
        place += 1
    names: list[str] = []
    while len(names) < wanted and place < len(instructions):
        item = instructions[place]
        if item.opname in _STORES:
            names.append(str(item.argval))
        elif item.opname == "STORE_FAST_STORE_FAST":
            names.extend(map(str, item.argval))
        elif item.opname == "STORE_FAST_LOAD_FAST":
            names.append(str(item.argval[0]))
            break
        else:
            break
        place += 1
    return tuple(names[:wanted])
