"""Shapes that an argument gives for each sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import rows_of, stacked
from dali_lab.schema import Call

Rows = slice | npt.NDArray[np.int64]


def integer_table(call: Call, batch: Batch, argument: str) -> npt.NDArray[np.int64]:
    """A batch of integers, as many in each sample, as ``int64[N, K]``.

    Raises
    ------
    OperatorError
        If samples differ in length.
    """
    if not batch.is_uniform():
        raise call.problem("must have as many elements in each sample", argument=argument)
    if batch.ndim > 1 and (batch.sizes != 1).any():
        raise call.problem(f"must be a number or a list in each sample, got {batch.ndim} dimensions", argument=argument)
    values = stacked(batch)
    if values.dtype.kind == "f" and not (np.abs(values) < 2**63).all():
        raise call.problem("must be whole numbers, got nan, infinity or more than 64 bits hold", argument=argument)
    return rows_of(values).astype(np.int64)


def integer_tables(call: Call, batch: Batch, argument: str) -> Iterator[tuple[Rows, npt.NDArray[np.int64]]]:
    """As :func:`integer_table` for samples that may differ in length: which samples, and their ``int64[n, K]``."""
    if batch.is_uniform():
        yield slice(None), integer_table(call, batch, argument)
        return
    for length in np.unique(batch.sizes):
        rows = np.flatnonzero(batch.sizes == length)
        yield rows, integer_table(call, batch.take(rows), argument)


def shape_table(call: Call, argument: str = "shape") -> npt.NDArray[np.int64] | None:
    """The argument as ``int64[N, ndim]``, checked; `None` if it was not given.

    Raises
    ------
    OperatorError
        If an extent is negative.
    """
    batch = call.batches.get(argument)
    if batch is not None:
        table = integer_table(call, batch, argument)
    else:
        value = call.operator.values.get(argument)
        if value is None:
            return None
        table = np.tile(np.array(value, np.int64).reshape(1, -1), (call.count, 1))
    call.refuse(table < 0, "an extent cannot be negative: {:t}", table, argument=argument)
    return table


def check_layout(call: Call, layout: str, ndim: int, argument: str = "layout") -> str:
    """The layout, if it has a letter for each dimension or is empty.

    Raises
    ------
    OperatorError
        If it has not.
    """
    if layout and len(layout) != ndim:
        message = f"'{layout}' has {len(layout)} letters, the output has {ndim} dimensions."
        message += f" Layout '{layout}' has {len(layout)} dimensions but output shape has {ndim}"
        raise call.problem(message, argument=argument)
    return layout
