"""Functions of pipelines whose nodes belong together: sub-graphs, as exported programs have them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TypeVar

from dali_lab.graph.recorder import Recorder

R = TypeVar("R")


def subgraph(function: Callable[..., R]) -> Callable[..., R]:
    """Name the nodes that a function makes after its call, so that a graph shows what belongs together.

    The call takes one more argument, ``name``: a node called ``turned`` in the function becomes ``NAME/turned``.
    Without it, the name of the function stands there, with a number from the second call on.

    Parameters
    ----------
    function
        Calls operators; its positional arguments are inputs, the others arguments of the sub-graph.

    Examples
    --------
    >>> @subgraph
    ... def augment(images, *, angle=10):
    ...     turned = fn.rotate(images, angle=angle)
    ...     return fn.flip(turned)
    >>> soft = augment(images, angle=20, name="soft")
    """

    @functools.wraps(function)
    def named(*inputs: object, name: str | None = None, **arguments: object) -> R:
        with named_after(name, function.__name__):
            return function(*inputs, **arguments)

    return named


@contextlib.contextmanager
def named_after(name: str | None, function: str) -> Iterator[None]:
    """Name the nodes made in the block after a call of a sub-graph, inside of those around it."""
    recorder = Recorder.current()
    if recorder is None:
        yield
        return
    before = recorder.within
    wanted = name or function
    number, own = 2, wanted
    while name is None and f"{before}{own}/" in recorder.scopes:
        number, own = number + 1, f"{wanted}_{number}"
    recorder.within = f"{before}{own}/"
    recorder.scopes.add(recorder.within)
    try:
        yield
    finally:
        recorder.within = before
