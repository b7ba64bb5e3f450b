"""Identities of the data that samples are made of: results are kept only for files that have not changed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

SETTLED = 3_000_000_000
"""Nanoseconds since its last change after which a file's time tells it from any later version.

File systems tell times apart by up to two seconds; a younger file could change once more without showing it.
"""


def digests(texts: Iterable[str]) -> Rows:
    """A digest of each text, ``int64[N, 2]``."""
    found = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(found, "<i8").astype(np.int64).reshape(-1, 2)


class Identities:
    """Identities of the samples of a reader: a digest of all that is known of each without reading, and its files.

    Parameters
    ----------
    texts
        For each sample of the list everything that its outputs are a function of, beside the content of files; asked
        for once.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: Iterable[str] | None = texts
        self._digests: Rows | None = None
        self._lock = threading.Lock()

    def of(self, rows: Rows, states: Rows) -> Rows:
        """Digest and states of each sample, ``int64[N, 2 + K]``.

        Parameters
        ----------
        rows
            Places of the samples in the list.
        states
            ``int64[N, K]``: size and time of change of each file of a sample, in turn.

        Returns
        -------
        numpy.ndarray
            A row of zeros stands for a sample with a file that changed a moment ago or is not there.
        """
        found = np.concatenate([self._all()[rows], states], axis=1)
        sizes, times = states[:, ::2], states[:, 1::2]
        found[(sizes < 0).any(axis=1) | (times + SETTLED > time.time_ns()).any(axis=1)] = 0
        return found

    def _all(self) -> Rows:
        with self._lock:
            if self._digests is None:
                assert self._texts is not None
                self._digests, self._texts = digests(self._texts), None
            return self._digests
