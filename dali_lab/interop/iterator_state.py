"""Checkpoints of iterators over pipelines: the states of the pipelines with that of the iterator."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import AssertedError, FormatError, GraphError
from dali_lab.model.user_code import user_stacklevel
from dali_lab.pipeline.pipeline import Pipeline

_CHECKPOINTS = "checkpoints"


class IteratorError(AssertedError):
    """An argument that an iterator does not take."""


class IteratorState:
    """Part of an iterator over pipelines that takes its checkpoints and goes on from them."""

    _pipes: list[Pipeline]
    _reader_name: str | None
    _enable_checkpointing: bool
    _ever_consumed: bool
    _initial_checkpoints: list[bytes]
    _in_rest: bool
    _shards_id: npt.NDArray[np.int64]
    _counter: int
    _size: int
    batch_size: int

    @property
    def _wraps(self) -> bool:
        """Whether the last batch goes on into the next epoch."""
        raise NotImplementedError

    def _open(self, tell_end: bool = False) -> None:
        """Begin where the pipelines are."""
        raise NotImplementedError

    _STATE = ("_counter", "_counter_per_gpu", "_shard_sizes_per_gpu", "_shards_id", "_size")
    _SIZES = ("_size_no_pad", "_initial_sizes", "_in_rest")
    """The epoch's sizes, and whether it is the rest of one that other processes began; older states are without."""

    _starts: Mapping[str, list[int]]
    """By shard the place where the epoch began in those of the reader, which are others where no batch is padded."""

    @property
    def _drops(self) -> bool:
        """Whether incomplete batches are dropped."""
        raise NotImplementedError

    def _note_start(self) -> None:
        """Remember where an epoch begins in those of the reader; to go on with another number of processes takes it."""
        self._starts = {}
        if not self._enable_checkpointing or not self._reader_name or self._wraps:
            return
        with suppress(GraphError):  # the next batch has failed, so that nothing can go on from here
            found = [pipeline._reader_start(self._reader_name) for pipeline in self._pipes]
            self._starts = {str(shard): start for shard, start in found}

    def _state(self) -> str:
        found = {name: getattr(self, name) for name in (*self._STATE, *self._SIZES) if hasattr(self, name)}
        state: dict[str, object] = {name: np.asarray(value).tolist() for name, value in found.items()}
        if self._enable_checkpointing and self._reader_name and not self._wraps:
            over = 0 < self._size <= self._counter
            state["epoch"] = {
                "reader": self._pipes[0]._reader_node(str(self._reader_name)),
                "taken": 0 if over else self._counter,
                "starts": self._starts,
                "batch_size": self.batch_size,
                "drop": self._drops,
            }
        return json.dumps(state)

    def _take_checkpoints(self) -> list[bytes]:
        state = self._state()
        return [pipeline._get_checkpoint(state) for pipeline in self._pipes]

    def _restore(self) -> None:
        restored = [pipeline.is_restored_from_checkpoint for pipeline in self._pipes]
        if not any(restored):
            return
        if any(pipeline._resharded for pipeline in self._pipes):
            if self._reader_name and self._wraps:
                raise IteratorError(
                    "FILL without pad_last_batch goes on into the next epoch, which is not possible behind the rest of"
                    " an epoch that another number of processes began; take PARTIAL, or pad_last_batch=True",
                    argument="last_batch_policy",
                )
            self._resume_rest()
            return
        states = [pipeline._iterator_data for pipeline in self._pipes]
        if not all(restored) or len(set(states)) != 1 or not states[0]:
            warnings.warn(
                "the checkpoints of the pipelines were not all taken by one iterator; it may begin at a wrong place",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
        if not states[0]:
            return
        try:
            found = json.loads(states[0])
            self._starts = (found.get("epoch") or {}).get("starts", {})
            for name in (*self._STATE, *self._SIZES):
                if hasattr(self, name) and (name in found or name in self._STATE):
                    setattr(self, name, _checked(found[name], getattr(self, name)))
            if hasattr(self, "_initial_sizes"):
                self._initial_sizes.take(self._shards_id)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FormatError(f"the checkpoint holds no state of an iterator like this one ({error})") from None

    def _resume_rest(self) -> None:
        """Go on with the rest of an epoch that another number of processes began, if there is one."""
        state = json.loads(self._pipes[0]._iterator_data or "{}")
        if self._reader_name and (state.get("epoch") or {}).get("drop", self._drops) != self._drops:
            raise IteratorError(
                "another number of processes goes on with incomplete batches as they were dealt with before: DROP"
                " goes on for DROP alone",
                argument="last_batch_policy",
            )
        self._in_rest = any(pipeline._in_rest for pipeline in self._pipes)

    def checkpoints(self) -> list[bytes]:
        """The state of each pipeline, with that of the iterator, for the argument `checkpoint` of pipelines.

        Raises
        ------
        ValueError
            If checkpointing was not enabled.
        """
        if not self._enable_checkpointing:
            raise ValueError("no checkpoints can be taken: the pipelines were made without enable_checkpointing=True")
        return self._take_checkpoints() if self._ever_consumed else self._initial_checkpoints

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch that was taken, as PyTorch's stateful objects give it: plain JSON values.

        Raises
        ------
        ValueError
            If checkpointing was not enabled.
        """
        return {_CHECKPOINTS: [base64.b64encode(checkpoint).decode("ascii") for checkpoint in self.checkpoints()]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on after the batch at which a state was taken, of an iterator over the same pipelines.

        The pipelines are built anew; batches that were computed ahead are dropped. After an error nothing has changed.

        Raises
        ------
        ValueError
            If checkpointing was not enabled.
        FormatError
            If the state is damaged, or that of other pipelines.
        """
        if not self._enable_checkpointing:
            raise ValueError("no state can be loaded: the pipelines were made without enable_checkpointing=True")
        try:
            checkpoints = [base64.b64decode(text, validate=True) for text in state_dict[_CHECKPOINTS]]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"this is not a state of an iterator over pipelines ({error!r})") from None
        if len(checkpoints) != len(self._pipes):
            raise FormatError(f"this is the state of {len(checkpoints)} pipelines; there are {len(self._pipes)} here")
        before = dict(vars(self))
        try:
            with ExitStack() as pipelines:
                for pipeline, checkpoint in zip(self._pipes, checkpoints, strict=True):
                    pipelines.enter_context(pipeline._gone_on_from(checkpoint))
                self._open(tell_end=True)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise


def _checked(value: object, present: int | npt.NDArray[np.int64]) -> Any:
    """A value of a saved state, as the present one is.

    Raises
    ------
    ValueError, TypeError, OverflowError
        If it is of another kind or size.
    """
    found = np.array(value, np.int64)
    if found.shape != np.shape(present) or (abs(found) >= 1 << 48).any():
        raise ValueError(f"{value} in place of {present}")
    return found if isinstance(present, np.ndarray) else int(found)
