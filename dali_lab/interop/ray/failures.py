"""Errors of tasks and of a cluster in one sentence: what is wrong, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dali_lab.interop.ray.node import INSTALL, NO_PACKAGE
from dali_lab.interop.ray.requirements import RayError
from dali_lab.model.errors import DaliLabError

_MISSING = re.compile(r"No module named 'dali_lab[\w.]*'|cannot import name '\w+' from 'dali_lab[\w.]*'")
"""Words of a node that cannot load a task."""

_OURS = re.compile(
    rf"^(?:dali_lab\.model\.errors\.\w+: |RuntimeError: (?=the node .+ {NO_PACKAGE}))(.+(?:\n  \S.*)*)", re.M
)
"""One of our errors in the text of a traceback."""


def explained(error: BaseException) -> DaliLabError | None:
    """The meaning of an error that Ray reports; `None` where its own words say it best.

    An error of a pipeline in a task is that error, as a run of this machine would raise it.
    """
    from ray import exceptions

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, exceptions.RayTaskError):
            inner = cause.cause
            if isinstance(inner, DaliLabError):
                return inner
            if isinstance(inner, RuntimeError) and NO_PACKAGE in str(inner):
                return RayError(_first_line(inner))
            if isinstance(inner, exceptions.UserCodeException) and (told := _told(str(cause))):
                return told
            missing = _MISSING.search(str(inner))
            if missing is not None:
                return RayError(f"a node {NO_PACKAGE} ({missing[0]}): {INSTALL}")
            cause = inner if isinstance(inner, exceptions.RayError) else cause
        for kinds, say in _known():
            if isinstance(cause, kinds):
                return RayError(say(_first_line(cause)))
        cause = cause.__cause__ or cause.__context__
    return None


@contextmanager
def explaining() -> Iterator[None]:
    """Raise errors of a cluster within as what they mean.

    Raises
    ------
    DaliLabError
        The error of a pipeline in a task.
    RayError
        What is wrong with the cluster.
    """
    try:
        yield
    except Exception as error:
        meaning = explained(error)
        if meaning is None or meaning is error:
            raise
        raise meaning from None


def _known() -> list[tuple[tuple[type[BaseException], ...], Callable[[str], str]]]:
    """Kinds of Ray's errors, the more special ones first, and the sentence for each."""
    from ray import exceptions

    return [
        (
            (exceptions.OutOfDiskError, exceptions.ObjectStoreFullError),
            lambda said: (
                "the object store of a node is full, and so is the disk that it spills to: take smaller blocks"
                " (batches_per_block=1), keep fewer batches, free the disk under /tmp/ray, or start Ray with more"
                " --object-store-memory or another --object-spilling-directory"
            ),
        ),
        (
            (exceptions.OutOfMemoryError,),
            lambda said: (
                "a node has no memory left, and Ray ended the task: take smaller batches or blocks"
                " (batches_per_block=1), or fewer tasks at a time (num_cpus=2, or memory= in bytes, for dataset())"
            ),
        ),
        (
            (exceptions.RuntimeEnvSetupError,),
            lambda said: f"a node cannot set up runtime_env: {said}; are the names right, and can it reach the index?",
        ),
        (
            (exceptions.WorkerCrashedError, exceptions.ActorDiedError, exceptions.NodeDiedError),
            lambda said: (
                f"processes of the cluster ended again and again: {said}; the log is on its node under"
                " /tmp/ray/session_latest/logs, and `ray status` tells which nodes are left"
            ),
        ),
        (
            (exceptions.ObjectLostError,),
            lambda said: (
                f"a block was lost with its node and cannot be computed again: {said}; go on with"
                " dataset(resume=iterator.state_dict())"
            ),
        ),
        (
            (exceptions.RaySystemError, exceptions.RpcError),
            lambda said: f"the connection to the Ray cluster broke: {said}; `ray status` tells whether it still runs",
        ),
    ]


def _told(trace: str) -> DaliLabError | None:
    """The error of a stage: Ray keeps the text alone of errors in functions of a dataset."""
    found = _OURS.findall(trace)
    return DaliLabError(found[-1].rstrip()) if found else None


def _first_line(error: BaseException) -> str:
    # The first line of an error of a runtime environment says no more than its name.
    said = getattr(error, "error_message", None) or str(error)
    return next((line.strip().rstrip(".") for line in said.splitlines() if line.strip()), type(error).__name__)
