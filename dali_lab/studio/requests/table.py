"""The functions that answer requests, by method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from dali_lab.studio.connections import Request
from dali_lab.studio.protocol.methods import METHODS
from dali_lab.studio.protocol.values import Wire
from dali_lab.studio.workspace import Workspace

P = TypeVar("P", bound=Wire)
Answer: TypeAlias = Wire | None
HANDLERS: dict[str, tuple[type[Wire], Callable[[Workspace, Request, Any], Answer]]] = {}
"""By method the type of its parameters and the function, which runs on the session's thread.

The function returns the result, or `None` where it answers the request itself, with buffers or later.
"""


def handles(
    method: str, params: type[P]
) -> Callable[[Callable[[Workspace, Request, P], Answer]], Callable[[Workspace, Request, P], Answer]]:
    """Enter the function under its method."""
    assert METHODS[method].params is params

    def enter(function: Callable[[Workspace, Request, P], Answer]) -> Callable[[Workspace, Request, P], Answer]:
        HANDLERS[method] = params, function
        return function

    return enter
