"""Look-ahead of readers whose files are remote: samples of the next batches are requested before they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from dali_lab.io.remote.parts import FileParts, Part
    from dali_lab.operators.readers.order import ReaderOrder

Rows = npt.NDArray[np.int64]


class RemoteRows(NamedTuple):
    """The parts of files that samples consist of.

    Attributes
    ----------
    parts
        Where they are requested and taken.
    of
        The parts of samples, by their places in the list.
    """

    parts: FileParts
    of: Callable[[Rows], Iterable[Part]]


class LookAhead:
    """Requests the samples of batches to come, in the order in which they will be drawn.

    A second order of samples, the scout, goes ahead of the reader's own, which thereby stays what checkpoints are taken
    of. It gains on the reader from batch to batch, so that a preview of one batch requests no more than that one.

    Parameters
    ----------
    rows
        The parts of samples.
    scout
        An order like the reader's, not begun yet.
    kept
        Samples that are not left out; `None` where all are read.
    """

    def __init__(self, rows: RemoteRows, scout: ReaderOrder, kept: Rows | None) -> None:
        self._rows = rows
        self._scout = scout
        self._kept = kept
        self._lead = 0
        self._most = 0
        self._size = 0

    def drawn(self, batch_size: int, order: ReaderOrder) -> None:
        """Note that a batch was drawn from `order`, and request further ones."""
        if self._size != batch_size:
            lost = self._size != 0
            self._size = batch_size
            if lost:
                self.follow(order)
        self._lead -= 1
        if self._lead < 0:
            self._request()
        while self._lead < self._most and self._rows.parts.has_room:
            self._request()
        self._most = 2 * self._most + 1

    def drawn_apart(self, places: Rows, order: ReaderOrder) -> None:
        """Note that places were drawn of which the order does not tell, and go on from where it is."""
        self._request_places(places)
        self._scout.set_state(order.get_state())
        self._lead = 0

    def _request(self) -> None:
        self._request_places(self._scout.next_batch(self._size))
        self._lead += 1

    def _request_places(self, places: Rows) -> None:
        self._rows.parts.request(self._rows.of(places if self._kept is None else self._kept[places]))

    def follow(self, order: ReaderOrder) -> None:
        """Go on from where another order is, after it was restored or its batches have another size."""
        self._rows.parts.forget()
        self._scout.set_state(order.get_state())
        self._lead = 0

    def close(self) -> None:
        """End the requests."""
        self._rows.parts.close()
