"""Decodes the pictures of a chunk: each goes along its route of backends until one has decoded it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.backends import Backend, imagecodecs, libjpeg, nvimgcodec, pillow, pnm, rasters, simplejpeg
from dali_lab.codecs.backends.reasons import ends_within_scan
from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import read_headers
from dali_lab.codecs.job import Job, Mask, Table
from dali_lab.codecs.plan import Route, Wanted
from dali_lab.kernels.cpu.header_table import UNENDED
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8

BACKENDS: dict[str, Backend] = {
    "libjpeg": libjpeg,
    "rasters": rasters,
    "simplejpeg": simplejpeg,
    "nvimgcodec": nvimgcodec,
    "imagecodecs": imagecodecs,
    "pillow": pillow,
    "pnm": pnm,
}


def decode(job: Job, allocate: Callable[[Table], Batch], only: Mask | None = None) -> dict[int, CodecError]:
    """Decode the pictures of a job in the calling thread, mostly without the GIL.

    Parameters
    ----------
    job
        Its `out` becomes the results.
    allocate
        Gives memory for pictures of these shapes, ``int64[N, 3]``, and of the wanted dtype.
    only
        ``bool[N]``: pictures to decode; all if not given. The others have no extent in the results.

    Returns
    -------
    dict
        Index and reason of each of them that could not be decoded; their memory holds anything.
    """
    job.out = allocate(job.shapes if only is None else np.where(only[:, None], job.shapes, 0))
    chosen = range(len(job)) if only is None else np.flatnonzero(only).tolist()
    failures = {index: job.refused[index] for index in chosen if index in job.refused} if job.refused else {}
    groups: dict[Route, list[int]] = {}
    for index in chosen:
        if index not in failures and index not in job.empty:
            groups.setdefault(job.routes[index], []).append(index)
    for route, which in groups.items():
        for index in along(job, route, which):
            failures[index] = job.failures.get(index) or CodecError("no library that decodes it is installed")
    return failures


def problem_of(data: npt.NDArray[np.uint8]) -> CodecError | None:
    """Why a picture cannot be decoded, which is tried; `None` where it can be."""
    encoded = Batch.of([data])
    failures = decode(
        Job(encoded, read_headers(encoded), Wanted()), lambda shapes: Batch.allocate(shapes, UINT8, "HWC")
    )
    return failures.get(0)


def cut_short(job: Job) -> dict[int, CodecError]:
    """JPEG pictures of a job that end above the lower edge of what is wanted of them: those without an end are tried.

    All pictures must have libjpeg-turbo on their routes. The job's `out` means nothing afterwards.
    """
    doubtful = [
        index
        for index in np.flatnonzero(job.headers.table[:, UNENDED]).tolist()
        if ends_within_scan(job.data.array(index), job.headers[index])
    ]
    if not doubtful:
        return {}
    shapes = np.zeros_like(job.shapes)
    shapes[doubtful] = job.shapes[doubtful]
    job.out = Batch.allocate(shapes, UINT8, "HWC")
    return {index: CodecError("truncated JPEG") for index in libjpeg.decode(job, doubtful)}


def along(job: Job, route: Route, which: list[int]) -> list[int]:
    """Send pictures along a route; those that no backend has decoded."""
    cut_short: list[int] = []
    for step in route:
        backend = next((BACKENDS[name] for name in step if BACKENDS[name].available()), None)
        which = which if backend is None else backend.decode(job, which)
        if which and backend is libjpeg:
            # All others decode as far as the first did, and then refuse them as well.
            cut_short = [index for index in which if ends_within_scan(job.data.array(index), job.headers[index])]
            job.failures.update({index: CodecError("truncated JPEG") for index in cut_short})
            which = [index for index in which if index not in cut_short]
        if not which:
            break
    return [*cut_short, *which]
