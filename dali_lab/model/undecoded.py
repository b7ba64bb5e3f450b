"""Pictures whose windows are decoded, or cut out, by their consumer: one by one, so that pixels stay in its cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from dali_lab.model.batch import Batch

Table = npt.NDArray[np.int64]
PIXELS = -1


@dataclass
class Undecoded:
    """Upright JPEG pictures or pixels of three channels, or windows of them, as tables for a kernel.

    Attributes
    ----------
    addresses, lengths
        ``int64[N]``: the files' bytes; a length of :data:`PIXELS` says that they are pixels already.
    stored
        ``int64[N, 3]``: height, width and channels of the whole pictures.
    windows
        ``int64[N, 4]``: ``(y0, x0, y1, x1)``, not empty and within the picture.
    color
        ``RGB`` or ``BGR``.
    use_fast_idct
        Use libjpeg-turbo's faster, less exact inverse transform.
    decoder
        The function that :meth:`decode` calls.
    seconds
        Time that the consumer spent on decoding.
    """

    addresses: Table
    lengths: Table
    stored: Table
    windows: Table
    color: str
    use_fast_idct: bool
    decoder: Callable[[npt.NDArray[np.bool_]], Batch]
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.addresses)

    @property
    def shapes(self) -> Table:
        """``int64[N, 3]``: height, width and channels of the decoded windows."""
        return np.concatenate([self.windows[:, 2:] - self.windows[:, :2], self.stored[:, 2:]], axis=1)

    def decode(self, wanted: npt.NDArray[np.bool_] | None = None) -> Batch:
        """Decode pictures into memory.

        Parameters
        ----------
        wanted
            ``bool[N]``: which pictures; all if not given. The others have neither memory nor extent in the result.

        Raises
        ------
        SampleError
            As the decoder about a picture that cannot be decoded.
        """
        began = time.perf_counter()
        try:
            return self.decoder(np.ones(len(self), np.bool_) if wanted is None else wanted)
        finally:
            self.seconds += time.perf_counter() - began
