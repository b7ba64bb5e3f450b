"""Samples of a call: the values of arguments for each of them, and errors about them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import GeneratorState
from dali_lab.model.batch import Batch
from dali_lab.model.dense import rows_of
from dali_lab.model.dtypes import FLOAT, NO_TYPE, DALIDataType
from dali_lab.model.errors import OperatorError, SampleError
from dali_lab.schema.ports import any_of

if TYPE_CHECKING:
    from dali_lab.schema.operator import Operator


@dataclass
class CalledSamples:
    """Part of :class:`~dali_lab.schema.call.Call`: its samples, the values of arguments, and errors that name them."""

    operator: Operator
    start: int
    count: int
    batch_size: int = 0
    drawn_before: int = 0
    seed: int = 0
    batches: Mapping[str, Batch] = field(default_factory=dict)
    repeat: npt.NDArray[np.int64] | None = None
    random_state: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for name, batch in self.batches.items():
            arg = self.operator.argument_table.get(name)
            if arg is not None and not arg.takes(batch.dtype):
                types = any_of(arg.fed_types())
                message = f"takes {types} from a node, got {batch.dtype.name}, which cannot be converted; fn.cast"
                message += " changes the type"
                raise self.problem(message, argument=name)

    @functools.cached_property
    def generator(self) -> GeneratorState:
        """The operator's random numbers, from this batch on: by its seed, unless it was given a state.

        Raises
        ------
        OperatorError
            If the state is too short.
        """
        batch = self.batches.get("_random_state")
        words = self.random_state or self.operator.values.get("_random_state") if batch is None else batch.array(0)
        if words is None:
            return GeneratorState(self.seed, self.drawn_before)
        try:
            return GeneratorState.of_words(words)
        except ValueError as error:
            raise self.problem(str(error), argument="_random_state") from error

    def numbers(self, name: str, dtype: npt.DTypeLike = np.float32, default: float | None = None) -> npt.NDArray[Any]:
        """A scalar argument as one number per sample, ``[count]``.

        Raises
        ------
        OperatorError
            If a connected node gives another number of elements than one.
        """
        return self.vectors(name, 1, dtype, default)[:, 0]

    def vectors(
        self, name: str, length: int, dtype: npt.DTypeLike = np.float32, default: object = None
    ) -> npt.NDArray[Any]:
        """A vector argument as ``[count, length]``; a single element stands for all `length`.

        Raises
        ------
        OperatorError
            If there are neither 1 nor `length` elements.
        """
        batch = self.batches.get(name)
        if batch is not None:
            return self._from_batch(name, batch, length, dtype)
        value = self.operator.values.get(name)
        if value is None:
            value = default
        key = (name, (length, np.dtype(dtype), None if value is self.operator.values.get(name) else repr(default)))
        rows = self.operator._repeated.get(key)
        if rows is None or len(rows) < self.count:
            row = self._converted(name, np.atleast_1d(np.asarray(value)), dtype).reshape(-1)
            if row.size not in (1, length):
                raise self.problem(
                    f'Argument "{name}" expects either a single value or a list of {length} elements. {row.size} given.'
                    f' Argument "{name}" expected shape {length} but got {row.size} values, which can\'t be interpreted'
                    " as the expected shape.",
                    argument=name,
                )
            rows = np.empty((max(self.count, self.batch_size), length), dtype)
            rows[:] = row
            rows.flags.writeable = False
            self.operator._repeated[key] = rows
        return rows[: self.count]

    def lists(self, name: str, dtype: npt.DTypeLike = np.float32) -> list[npt.NDArray[Any]] | None:
        """A vector argument whose length may differ between samples, one flat array each; `None` if not given."""
        batch = self.batches.get(name)
        if batch is not None:
            if batch.is_uniform():
                rows = list(rows_of(self._converted(name, batch.stacked(), dtype)))
            else:
                rows = [
                    self._converted(name, array, dtype, sample=index).reshape(-1)
                    for index, array in enumerate(batch.arrays())
                ]
            if self.repeat is not None and len(rows) != self.count:
                rows = [row for row, times in zip(rows, self.repeat, strict=True) for _ in range(times)]
            return rows
        value = self.operator.values.get(name)
        if value is None:
            return None
        return [self._converted(name, np.atleast_1d(np.asarray(value)), dtype).reshape(-1)] * self.count

    def has(self, name: str) -> bool:
        """Whether the argument was given."""
        return self.operator.has(name)

    def result_type(self, data: Batch, allowed: Collection[DALIDataType]) -> DALIDataType:
        """The type of the result: that of the argument ``dtype``, or of the data where it is not given.

        Raises
        ------
        OperatorError
            If it is given, and neither `allowed` nor the type of the data.
        """
        wanted: DALIDataType | None = self.operator.value("dtype")
        if wanted is None or wanted in (NO_TYPE, data.dtype):
            return data.dtype
        if wanted not in allowed:
            names = any_of(list(dict.fromkeys((data.dtype, *allowed))))
            message = f"gives {names} for this input, not {wanted.name}"
            if tuple(allowed) == (FLOAT,):
                message += ". Output data type must be same as input, FLOAT or skipped"
            raise self.problem(message, argument="dtype")
        return wanted

    def problem(
        self,
        message: str,
        *,
        argument: str | None = None,
        sample: int | None = None,
        source: str | None = None,
        kind: type[OperatorError] | None = None,
        frames: bool = True,
    ) -> OperatorError:
        """An error about this call, to be raised.

        `sample` counts within the call: frames where sequences were cut into them, unless `frames` says otherwise.
        """
        kind = kind or (OperatorError if sample is None else SampleError)
        if sample is not None and frames and self.repeat is not None:
            sample = int(np.searchsorted(np.cumsum(self.repeat), sample, side="right"))
        return kind(
            message,
            node=self.operator.node or None,
            operator=self.operator.name,
            argument=argument,
            sample=None if sample is None else sample + self.start,
            source=source,
        )

    def refuse(
        self,
        wrong: npt.NDArray[np.bool_],
        message: str,
        *shown: object,
        argument: str | None = None,
        owners: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Raise an error about the first sample of which something is wrong; does nothing if all is right.

        Parameters
        ----------
        wrong
            ``bool[N, …]``: what is wrong of each sample.
        message
            A format string for `shown`. Rows of arrays are shown as lists; ``{:x}`` shows ``4 x 5``, ``{:t}`` a tuple.
        shown
            Arrays, of which the sample's row is shown, and other values.
        owners
            The sample of each row of `wrong`, if rows are not the samples themselves.

        Raises
        ------
        SampleError
            With the message.
        """
        if wrong.any():
            row = int(wrong.reshape(len(wrong), -1).any(axis=1).argmax())
            values = [_Row(each[row]) if isinstance(each, np.ndarray) else each for each in shown]
            sample = row if owners is None else int(owners[row])
            raise self.problem(message.format(*values), argument=argument, sample=sample)

    def _from_batch(self, name: str, batch: Batch, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        if batch.is_uniform():
            rows = self._converted(name, batch.stacked(), dtype)
            per_frame = self.repeat is not None and batch.layout.startswith("F") and batch.ndim >= 1
            if per_frame:
                rows = self._spread_frames(name, [rows_of(row) for row in rows])
            else:
                rows = rows_of(rows)
                if self.repeat is not None:
                    rows = np.repeat(rows, self.repeat, axis=0)
        elif self.repeat is not None and batch.layout.startswith("F"):
            rows = self._spread_frames(name, self._frames(name, batch, dtype))
        else:
            raise self.problem("must have as many elements in each sample", argument=name)
        if rows.shape[1] == 1 and length != 1:
            rows = np.broadcast_to(rows, (rows.shape[0], length))
        if rows.shape[1] != length:
            wanted = "1 element" if length == 1 else f"1 or {length} elements"
            message = f"Argument {name} for sample 0 is expected to have {wanted}, got: {rows.shape[1]}"
            raise self.problem(message, argument=name)
        return np.ascontiguousarray(rows)

    def _frames(self, name: str, batch: Batch, dtype: npt.DTypeLike) -> list[npt.NDArray[Any]]:
        """The values of each sequence, ``[frames, values]``, where sequences differ in length."""
        return [
            rows_of(self._converted(name, array, dtype, sample=index)) for index, array in enumerate(batch.arrays())
        ]

    def _converted(
        self, name: str, values: npt.NDArray[Any], dtype: npt.DTypeLike, sample: int | None = None
    ) -> npt.NDArray[Any]:
        """Values of an argument as `dtype`; without `sample` those of a node have samples as their first axis.

        Raises
        ------
        OperatorError
            If one is outside the declared range, or is no number that `dtype` has.
        """
        kind = np.dtype(dtype)
        arg = self.operator.argument_table.get(name)
        wrong = None if arg is None else arg.outside(values)
        range_ = ""
        if wrong is None and kind.kind in "iu" and not np.can_cast(values.dtype, kind):
            limits = np.iinfo(kind)
            held = values if values.dtype.kind in "biu" else np.trunc(values)
            wrong = ~((held >= limits.min) & (held <= limits.max) & (held != float(2**63)))
            range_ = f"the whole numbers from {limits.min} to {limits.max}"
        if wrong is not None and wrong.any():
            place = np.unravel_index(int(wrong.argmax()), wrong.shape)
            if sample is None and name in self.batches:
                sample = int(place[0])
            value = values[place]
            text = f"{value:g} is not in {range_}" if range_ or arg is None else arg.refusal(value)
            raise self.problem(text, argument=name, sample=sample, frames=False)
        return values.astype(kind, copy=False)

    def _spread_frames(self, name: str, samples: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        assert self.repeat is not None
        parts = []
        for index, (rows, frames) in enumerate(zip(samples, self.repeat.tolist(), strict=True)):
            if rows.shape[0] not in (1, frames):
                raise self.problem(
                    f"has {rows.shape[0]} frames of values for a sequence of {frames}. The sample"
                    f" {index + self.start} of tensor argument `{name}` contains {rows.shape[0]} per-frame parameters,"
                    f" but there are {frames} frames in the corresponding sample of input 0.",
                    argument=name,
                    sample=index,
                    frames=False,
                )
            parts.append(np.repeat(rows, frames, axis=0) if rows.shape[0] == 1 else rows)
        return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)


class _Row:
    """A row of an array in a message."""

    def __init__(self, values: Any) -> None:
        self._values = values.tolist()

    def __format__(self, form: str) -> str:
        if form == "x":
            return " x ".join(map(str, self._values))
        return str(tuple(self._values)) if form == "t" else format(self._values, form)
