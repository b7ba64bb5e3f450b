"""Tells which data samples are made of, so that results are kept only for files that have not changed."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dali_lab.io.roots import limited
from dali_lab.operators.readers.whole_files import Paths, can_read_compiled

Rows = npt.NDArray[np.int64]

SETTLED = 3_000_000_000
"""Nanoseconds since its last change after which a file's time tells it from any later version.

File systems tell times apart by up to two seconds; a younger file could change once more without showing it.
"""


class FileIdentities:
    """Identities of samples that are whole files.

    Parameters
    ----------
    paths
        The files.
    sources
        Names that samples get by their places: `get_property` gives them, so they count.
    """

    def __init__(self, paths: Paths, sources: Callable[[Rows], tuple[str, ...]]) -> None:
        self._paths = paths
        self._sources = sources
        self._digests: npt.NDArray[np.int64] | None = None
        self._lock = threading.Lock()

    def of(self, rows: Rows, more: npt.NDArray[np.generic]) -> npt.NDArray[np.int64] | None:
        """Digest of the path, size, time, and a number of `more` for each file: ``int64[N, 5]``.

        A row of zeros stands for a file that changed a moment ago or is not there. `None` for remote files, whose
        changes cannot be told, and where only some folders may be read.
        """
        if self._paths.parts is not None or limited():
            return None
        found = np.empty((len(rows), 5), np.int64)
        found[:, :2] = self._all_digests()[rows]
        found[:, 2:4] = self._states(rows)
        found[:, 4] = more[rows]
        now = time.time_ns()
        found[(found[:, 2] < 0) | (found[:, 3] + SETTLED > now)] = 0
        return found

    def _all_digests(self) -> npt.NDArray[np.int64]:
        with self._lock:
            if self._digests is None:
                names = self._paths.names
                sources = self._sources(np.arange(len(names), dtype=np.int64))
                here = os.getcwd()
                digests = b"".join(
                    hashlib.blake2b(
                        f"{os.path.normpath(os.path.join(here, name))}\0{source}".encode("utf-8", "surrogatepass"),
                        digest_size=16,
                    ).digest()
                    for name, source in zip(names, sources, strict=True)
                )
                self._digests = np.frombuffer(digests, "<i8").astype(np.int64).reshape(-1, 2)
            return self._digests

    def _states(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Size and time of each file, ``int64[N, 2]``; −1 where they cannot be had."""
        from dali_lab.kernels.cpu import background, file_access

        states = np.full((len(rows), 2), -1, np.int64)
        done = 0
        if can_read_compiled() and file_access.HAS_STATES:
            wanted = self._paths.addresses[rows]
            if background.ready(file_access.read_states, wanted, states):
                done = file_access.read_states(wanted, states)
        for index in range(done, len(rows)):
            try:
                status = os.stat(self._paths.names[rows[index]])
            except (OSError, ValueError):
                continue
            states[index] = status.st_size, status.st_mtime_ns
        return states
