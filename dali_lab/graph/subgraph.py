"""Functions of pipelines whose nodes belong together: sub-graphs, as exported programs have them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from dali_lab.graph.recorder import Recorder, SubgraphCall

R = TypeVar("R")


def subgraph(function: Callable[..., R]) -> Callable[..., R]:
    """Name the nodes that a function makes after its call, so that a graph shows what belongs together.

    The call takes one more argument, ``name``: a node called ``turned`` in the function becomes ``NAME/turned``.
    Without it, the name of the function stands there. A name that was taken by an earlier call gets a number.

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
        with subgraph_call(function.__name__, name, inputs, arguments) as call:
            result = function(*inputs, **arguments)
            call.results = result
            return result

    return named


@contextlib.contextmanager
def subgraph_call(
    function: str, name: str | None, inputs: Sequence[object], arguments: Mapping[str, object]
) -> Iterator[SubgraphCall]:
    """Name the nodes made in the block after a call of a sub-graph, inside of those around it."""
    recorder = Recorder.current()
    if recorder is None:
        yield SubgraphCall(function, "")
        return
    before = recorder.within
    wanted = own = name or function
    number = 2
    while f"{before}{own}/" in recorder.subgraphs:
        number, own = number + 1, f"{wanted}_{number}"
    call = SubgraphCall(function, f"{before}{own}/", tuple(inputs), dict(arguments))
    recorder.subgraphs[call.within] = call
    recorder.within = call.within
    try:
        yield call
    finally:
        recorder.within = before
