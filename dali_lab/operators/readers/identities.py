"""Identities of the data that samples are made of: results are kept only for files that have not changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

SETTLED = 3_000_000_000
"""Nanoseconds since its last change after which a file's time tells it from any later version.

File systems tell times apart by up to two seconds; a younger file could change once more without showing it.
"""


_NO_TIME = (1 << 63) - 1


def digests(texts: Iterable[str]) -> Rows:
    """A digest of each text, ``int64[N, 2]``."""
    found = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(found, "<i8").astype(np.int64).reshape(-1, 2)


def content_state(digest: bytes) -> Rows:
    """The state of a file by a digest of what it holds, ``int64[2]``: positive numbers."""
    return np.frombuffer(digest, "<i8", 2).astype(np.int64) & _NO_TIME


class Identities:
    """Identities of the samples of a reader: a digest of all that is known of each without reading, and its files.

    Parameters
    ----------
    count
        Number of samples in the list.
    texts
        Gives for samples of the list everything that their outputs are a function of, beside the content of files;
        asked for once for each.
    """

    def __init__(self, count: int, texts: Callable[[Rows], Iterable[str]]) -> None:
        self._count, self._texts = count, texts
        self._known: npt.NDArray[np.bool_] | None = None
        self._digests: Rows = np.zeros((0, 2), np.int64)

    def of(self, rows: Rows, states: Rows, by_content: bool = False) -> Rows:
        """Digest and states of each sample, ``int64[N, 2 + K]``.

        Parameters
        ----------
        rows
            Places of the samples in the list.
        states
            ``int64[N, K]``: size and time of change of each file of a sample, in turn.
        by_content
            Whether states are those of :func:`content_state` instead, which hold for any time.

        Returns
        -------
        numpy.ndarray
            A row of zeros stands for a sample with a file that changed a moment ago or is not there.
        """
        from dali_lab.kernels.cpu import background, lookup

        found = np.empty((len(rows), 2 + states.shape[1]), np.int64)
        settled = _NO_TIME if by_content else time.time_ns() - SETTLED
        tables = self._digests_of(rows), np.ascontiguousarray(rows), np.ascontiguousarray(states)
        background.call(lookup.identify, *tables, settled, found)
        return found

    def _digests_of(self, rows: Rows) -> Rows:
        """The digests of all samples, of which at least those of some are filled in."""
        if self._known is None:
            self._known = np.zeros(self._count, np.bool_)
            self._digests = np.zeros((self._count, 2), np.int64)
        new = rows[~self._known[rows]]
        if len(new):
            self._digests[new] = digests(self._texts(new))
            self._known[new] = True
        return self._digests
