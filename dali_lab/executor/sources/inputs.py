"""External sources at run time: fed batches, or batches from a callable or an iterable."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from dali_lab.device.incoming import device_batch
from dali_lab.device.interface import Device
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError, NotFedError, OperatorError, SampleError, as_ours
from dali_lab.model.incoming import checked_batch, incoming_batch
from dali_lab.model.user_code import user_stacklevel
from dali_lab.model.waiting import undisturbed
from dali_lab.schema.external import External, Request
from dali_lab.schema.source import Draw, FeedQueue, Source

Drawn = tuple[Sequence[Batch], dict[int, SampleError]]


_PREVIOUS = {
    "Type": "the previous iteration. Type in the previous iteration",
    "Number of dimensions": "previous iteration. Dimensionality in the previous iteration",
    "Layout": "previous iteration. Layout in the previous iteration",
}
_CURRENT = {"Type": "type is ", "Number of dimensions": "is ", "Layout": "is "}
"""Words about a change that programs written for NVIDIA DALI look for."""


class ExternalInput(Source):
    """Base of fed and Python inputs.

    Parameters
    ----------
    external
        The declaration.
    device
        Where data on a GPU stays; `None` moves all data to the CPU.
    """

    def __init__(self, external: External, device: Device | None = None) -> None:
        self.external = external
        self._device = device
        self._kinds: dict[int, dict[str, Any]] = {}

    def convert(
        self, index: int, data: object, limit: int | None, layout: str | None = None, cuda_stream: object = None
    ) -> Batch:
        """Data for one output as a batch, checked against the declaration."""
        external, expected = self.external, self.external.outputs[index]
        if layout and expected.layout and layout != expected.layout:
            raise OperatorError(f'Expected data with layout: "{expected.layout}" and got: "{layout}"')
        wanted: dict[str, Any] = {
            "layout": (expected.layout if layout is None else layout) or None,
            "dtype": expected.dtype,
            "ndim": expected.ndim,
            "limit": limit,
        }
        if self._device is not None:
            stream = external.cuda_stream if cuda_stream is None else cuda_stream
            batch = device_batch(data, self._device, stream, copy=not external.no_copy)
            if batch is not None:
                return checked_batch(batch, **wanted)
        return incoming_batch(data, **wanted, copy=not external.no_copy)

    def feed(self, data: object, layout: str | None, limit: int | None, cuda_stream: object = None) -> None:
        name = self.external.node
        raise self.external.fail(
            f"Cannot use `feed_input` on the external source '{name}' with a `source` argument specified."
        )

    def draw(self, batch_size: int) -> Draw:
        batches, lost = self._next(batch_size)
        if not batches:
            return Draw(len(lost), batches, lost)
        sizes = [len(batch) for batch in batches]
        if len(set(sizes)) > 1:
            raise self.external.fail(
                f"External source must return outputs with consistent batch size. It gave {sizes}", "source"
            )
        self._check_alike(batches)
        return Draw(sizes[0], batches, lost)

    def _next(self, batch_size: int) -> Drawn:
        """The next batch of each output, none where all samples are lost, and the errors of lost samples."""
        raise NotImplementedError

    def _check_alike(self, batches: Sequence[Batch]) -> None:
        """Refuse a batch of another kind than before; empty batches have no kind, and a layout may be added later."""
        for index, batch in enumerate(batches):
            if not len(batch):
                continue
            before = self._kinds.get(index, {})
            kind = {
                "Type": batch.dtype.name.lower(),
                "Number of dimensions": batch.ndim,
                "Layout": f'"{batch.layout}"' if batch.layout else "",
            }
            for what, value in kind.items():
                if before.get(what) and before[what] != value:
                    error = OperatorError(
                        f"{what} of the data fed to the external source has changed from {_PREVIOUS[what]} was"
                        f" {before[what]} and the current {_CURRENT[what]}{value or 'none'}."
                    )
                    error.locate(self.external.node, self.external.operator)
                    raise error
            self._kinds[index] = kind


class FedInput(ExternalInput):
    """Returns batches in the order in which they are fed."""

    def __init__(self, external: External, device: Device | None = None) -> None:
        super().__init__(external, device)
        self._fed = FeedQueue(external.node)
        self._last: Batch | None = None

    def feed(self, data: object, layout: str | None, limit: int | None, cuda_stream: object = None) -> None:
        try:
            batch = self.convert(0, data, limit, layout, cuda_stream)
        except OperatorError as error:
            error.locate(self.external.node, self.external.operator)
            raise
        self.push(batch)

    def skip_batches(self, batches: int, batch_size: int) -> None:
        if batches:
            raise self.external.fail("is fed by the program, so no batch can be skipped")

    def push(self, batch: Batch) -> None:
        """Accept a batch that was converted before."""
        self._fed.put(batch)

    def ready(self) -> bool:
        return bool(self._fed) or (self.external.repeat_last and self._last is not None)

    def _next(self, batch_size: int) -> Drawn:
        again = self._last if self.external.repeat_last else None
        batch = self._fed.take(wait=self.external.blocking and again is None)
        if batch is None and again is None:
            error = NotFedError(
                "no batch was fed: call feed_input or run(name=...) before each run. Where batches are prefetched, feed"
                " as many before the first run, or `prefetch_queue_depth` in Pipeline constructor shall be set to 1."
                " (Attempted to peek the data batch that doesn't exist. Add more elements to the DALI input operator.)"
            )
            error.locate(self.external.node, self.external.operator)
            raise error
        self._last = batch if batch is not None else again
        assert self._last is not None
        self._given += 1
        return (self._last,), {}

    def close(self) -> None:
        self._fed.close()


class PythonInput(ExternalInput):
    """Draws from a callable or an iterable in this process.

    Parameters
    ----------
    tolerant
        An error of the source loses a sample, or the samples of a batch, rather than being raised.
    """

    ends = True

    def __init__(self, external: External, device: Device | None = None, *, tolerant: bool = False) -> None:
        super().__init__(external, device)
        self._epoch = 0
        self._tolerant = tolerant
        # All in one, for Ctrl-C to come before or behind: the next batch, its first sample, the batches given so far.
        self._place = (0, 0, 0)

    @property
    def given(self) -> int:
        return self._place[2]

    @property
    def _iteration(self) -> int:
        return self._place[0]

    def _go_to(self, iteration: int, sample: int) -> None:
        self._place = (iteration, sample, self.given)

    def draw(self, batch_size: int) -> Draw:
        before = self._place
        try:
            return super().draw(batch_size)
        except Exception:
            raise
        except BaseException:  # the caller was interrupted
            if self._indexed:
                undisturbed(functools.partial(self._take_back, before))
            raise

    def _take_back(self, place: tuple[int, int, int]) -> None:
        """Go back to a batch that may have been given, to ask for it again."""
        self._place = place

    def _next(self, batch_size: int) -> Drawn:
        iteration, sample, _ = self._place
        request = Request(iteration, sample, 0, batch_size, self._epoch, tolerant=self._tolerant)
        batches: Sequence[Batch] = ()
        try:
            batches, failed = self._ask(request)
        except StopIteration:
            self._go_to(0, 0)
            raise
        except Exception as error:  # the source is the user's
            if self._iteration == request.iteration and (self._tolerant or not self._indexed):
                self._note_given(request)
            if not self._tolerant:
                raise
            failed = dict.fromkeys(range(batch_size), error)
        return batches, {row: _lost(row, error) for row, error in failed.items()}

    def _ask(self, request: Request) -> tuple[Sequence[Batch], dict[int, BaseException]]:
        """The batches of a request, and the errors of single samples."""
        assert self.external.source is not None
        columns, failed = self.external.source.ask_apart(request)
        self._note_given(request)
        found: dict[int, BaseException] = dict(failed)
        return tuple(self.convert(index, data, request.stop) for index, data in enumerate(columns)), found

    def _note_given(self, request: Request) -> None:
        """Go on to the next batch."""
        self._place = (request.iteration + 1, request.first_sample + request.stop, self.given + 1)

    @property
    def _indexed(self) -> bool:
        """Whether it can be asked for any batch; others have gone on also where they raise an error."""
        assert self.external.source is not None
        return self.external.source.indexed

    def skip_batches(self, batches: int, batch_size: int) -> None:
        if batches and not self._indexed:
            raise self.external.fail(
                "gives its batches one after the other: only a callable that takes an argument can be asked for any"
                " batch",
                "source",
            )
        iteration, sample, _ = self._place
        self._go_to(iteration + batches, sample + batches * batch_size)

    def reset(self) -> None:
        self._go_to(0, 0)
        self._epoch += 1

    def warn_of_state(self) -> None:
        """Warn, for checkpoints are taken, if this source cannot be asked for a batch again."""
        if not self._indexed:
            message = (
                f"DALI doesn't capture state of such 'source'. That of '{self.external.node}' is not in"
                " checkpoints: only a callable that takes an argument can be asked for a batch again. After restoring,"
                " put the source where it was yourself."
            )
            warnings.warn(message, UserWarning, stacklevel=user_stacklevel())

    def state(self) -> Any:
        iteration, sample, _ = self._place
        return {"iteration": iteration, "sample": sample, "epoch": self._epoch}

    def restore(self, state: Any) -> None:
        self._epoch = state["epoch"]
        self._go_to(state["iteration"], state["sample"])


def _lost(row: int, error: BaseException) -> SampleError:
    """The error about a sample that the source did not give."""
    if isinstance(error, DaliLabError):
        lost = SampleError(error.message, argument=error.argument)
        lost.__cause__ = error.__cause__
        lost.sample = row
        return lost
    ours = as_ours(error, sample=row)
    assert isinstance(ours, SampleError)
    return ours
