"""Places in the user's own code, which errors and warnings name."""

from __future__ import annotations

import os
import sys
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_line() -> str:
    """``file:line`` of the innermost frame outside this package; ``In[9], line 4`` in a cell of a notebook."""
    frame = user_frame()
    if frame is None:
        return ""
    cell = _cell(frame.f_code.co_filename)
    return f"{cell}, line {frame.f_lineno}" if cell else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _cell(file: str) -> str:
    """IPython's name for the cell that it compiled as a file of this name; empty for others."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = shell.compile.format_code_name(file) if shell is not None else None
    return named[1] if named else ""


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
