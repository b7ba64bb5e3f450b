"""Sources: they decide, batch after batch, which samples a node without inputs gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError, SampleError
from dali_lab.model.waiting import Changes


@dataclass
class Draw:
    """The decision of a source about one batch.

    Attributes
    ----------
    count
        Number of samples in the batch.
    ticket
        Any object; each call of the batch gets it.
    lost
        Samples that the source could not give, with their errors; the ticket holds anything in their places.
    """

    count: int
    ticket: Any = None
    lost: Mapping[int, SampleError] = field(default_factory=dict)


class Source:
    """The state of one source in one run, which decides what its batches hold.

    It is asked on one thread, in the order of the batches, while the operator runs on the batches drawn before.

    Attributes
    ----------
    ends
        :meth:`draw` may raise :class:`StopIteration`; such sources are asked before the others.
    """

    ends: bool = False
    _given: int = 0

    @property
    def given(self) -> int:
        """Batches of data that were taken, also those that were then refused.

        Where :meth:`draw` fails without one, the source can be asked again for the same batch.
        """
        return self._given

    def draw(self, batch_size: int) -> Draw:
        """Decide what the next batch holds.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether :meth:`draw` can decide now; false while it waits to be fed."""
        return True

    def skip_batches(self, batches: int, batch_size: int) -> None:
        """Go past batches, as if each had been drawn.

        Raises
        ------
        OperatorError
            If the source cannot tell what follows without giving it.
        """
        for _ in range(batches):
            self.draw(batch_size)

    def reset(self) -> None:
        """Begin the next epoch."""

    def state(self) -> Any:
        """The state that :meth:`restore` needs to go on from here, as plain JSON values."""
        return None

    def restore(self, state: object) -> None:
        """Go on from where :meth:`state` was taken."""

    def meta(self) -> Mapping[str, int] | None:
        """For a reader: the answer of ``Pipeline.reader_meta``."""
        return None

    def feed(self, data: object, layout: str | None, limit: int | None, cuda_stream: object = None) -> None:
        """Take a batch of at most `limit` samples from outside; `cuda_stream` made it, if it is on a GPU.

        Raises
        ------
        OperatorError
            If it takes none, or the data has the wrong form.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End worker processes, and any wait for data."""


class FeedQueue:
    """Batches that were fed and not yet drawn, with a consumer that may wait for them."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._batches: deque[Batch] = deque()
        self._changes = Changes()
        self._closed = False

    def __len__(self) -> int:
        return len(self._batches)

    def put(self, batch: Batch) -> None:
        """Add a batch."""
        self._batches.append(batch)
        self._changes.tell()

    def take(self, *, wait: bool) -> Batch | None:
        """The oldest batch; `None` if there is none and it is not waited for.

        Raises
        ------
        OperatorError
            If the queue is closed.
        """
        if wait:
            self._changes.wait_until(lambda: self._batches or self._closed)
        if self._closed:
            raise OperatorError("the pipeline was closed while an input waited to be fed", node=self._node)
        return self._batches.popleft() if self._batches else None

    def close(self) -> None:
        """End the consumer's wait."""
        self._closed = True
        self._changes.tell()
