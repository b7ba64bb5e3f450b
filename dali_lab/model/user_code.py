"""Places in the user's own code, which errors and warnings name."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = tuple({sysconfig.get_path(kind) + os.sep for kind in ("stdlib", "purelib", "platlib")})


def user_line() -> str:
    """``file:line`` of the innermost frame outside this package; ``In[9], line 4`` in a cell of a notebook."""
    frame = user_frame()
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    return _in_cell(file, line) or f"{file}:{line}"


def _shell() -> Any:
    """The IPython that runs this code, or `None`."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _in_cell(file: str, line: int) -> str:
    """``In[9], line 4`` for a line of a cell, which IPython compiled as a file of this name; empty for others."""
    shell = _shell()
    if shell is None:
        return ""
    if file == "<timed exec>":
        # IPython gives the code under ``%%time`` without the lines up to that one, and without a name.
        cells = shell.history_manager.input_hist_raw
        above, magic, _ = cells[-1].partition("%%time")
        return f"In[{len(cells) - 1}], line {line + above.count(chr(10)) + 1}" if magic else ""
    named = shell.compile.format_code_name(file)
    return f"{named[1]}, line {line}" if named else ""


def user_stacklevel() -> int:
    """The ``stacklevel`` with which a warning of the calling function points at the line that `user_line` names."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _is_inside(frame):
        name = frame.f_code.co_filename
        # Python does not count the frames of imports.
        level += not ("importlib" in name and "_bootstrap" in name)
        frame = frame.f_back
    return level


def user_frame() -> FrameType | None:
    """The innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame):
        frame = frame.f_back
    return frame


def _is_inside(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith((_PACKAGE, "<frozen"))


def rendered(error: BaseException) -> list[str]:
    """The lines that IPython shows of an error: this package's frames are among them only in its mode "Verbose"."""
    shown_by = _shell().InteractiveTB
    if shown_by.mode == "Verbose":
        return list(shown_by.structured_traceback(type(error), error, error.__traceback__))
    with only_user_frames(error) as traceback:
        return list(shown_by.structured_traceback(type(error), error, traceback))


def render_in_cells(error: BaseException) -> None:
    """Have IPython show an error of the user's own code, of any class, as `rendered` does."""
    if _shell() is not None:
        with suppress(AttributeError):
            error._render_traceback_ = functools.partial(rendered, error)  # type: ignore[attr-defined]


@contextmanager
def only_user_frames(error: BaseException) -> Iterator[TracebackType | None]:
    """The error's traceback without this package's frames; meanwhile its causes have none of them either."""
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in chain:
        chain.append(each)
        each = each.__cause__ or each.__context__
    kept = [one.__traceback__ for one in chain]
    try:
        for one in chain:
            one.__traceback__ = _of_user(one.__traceback__)
        yield error.__traceback__
    finally:
        for one, traceback in zip(chain, kept, strict=True):
            one.__traceback__ = traceback


def _of_user(traceback: TracebackType | None) -> TracebackType | None:
    """A copy without frames of this package, and without those of installed packages that it called."""
    steps: list[TracebackType] = []
    within = False
    while traceback is not None:
        frame = traceback.tb_frame
        name = frame.f_code.co_filename
        within = _is_inside(frame) or (within and name.startswith(_INSTALLED))
        if not within:
            steps.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for step in reversed(steps):
        found = TracebackType(found, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return found
