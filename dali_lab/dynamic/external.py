"""Data from Python callables and iterables, as tensors or batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dali_lab.dynamic.batch import Batch, as_batch
from dali_lab.dynamic.modes import EvalContext
from dali_lab.dynamic.tensor import as_tensor
from dali_lab.model.tensor_list import TensorListCPU
from dali_lab.schema.external import Request, make_source

_NEXT = Request(0, 0, 0, 1, 0)


class ExternalSource:
    """Gives the items of a Python callable or iterable, one for each call.

    Parameters
    ----------
    source
        A callable without parameters, an iterable or a generator function. An item is anything that a tensor or a
        batch can be made of, or a sequence of these for several outputs.
    num_outputs
        Number of outputs.
    cycle
        At the end of an iterable ``"quiet"`` or `True` begin it again, ``"raise"`` does so after StopIteration; by
        default there are no more items.
    device
        Where the data are to be.
    layout, dtype
        Of the data; a sequence has one for each output.

    Raises
    ------
    ValueError
        If `num_outputs` is not positive, a sequence has another length, or `source` takes an argument.
    """

    def __init__(
        self,
        source: Any,
        num_outputs: int = 1,
        *,
        cycle: str | bool | None = None,
        device: Any = "cpu",
        layout: Any = None,
        dtype: Any = None,
    ) -> None:
        if num_outputs <= 0:
            raise ValueError(f"num_outputs must be positive, got {num_outputs}")
        self._source = make_source(source, cycle)
        if self._source.indexed:
            raise ValueError("ndd.ExternalSource only supports callables with no parameters")
        self._outputs = num_outputs
        self._device = device
        self._layouts = self._for_each(layout)
        self._dtypes = self._for_each(dtype)

    def __call__(self, *, batch_size: int | None = None) -> Any:
        """The next item: a tensor, or a batch if `source` gave one; a tuple if there are several outputs.

        Parameters
        ----------
        batch_size
            Repeat tensors as often, to make a batch.

        Raises
        ------
        StopIteration
            At the end.
        TypeError
            If some outputs are tensors and others batches.
        ValueError
            If there is another number of outputs, or a batch has another size.
        """
        (item,) = self._source.ask(_NEXT)
        if self._outputs == 1:
            return self._made(item, batch_size, 0)
        if not isinstance(item, Sequence) or len(item) != self._outputs:
            raise ValueError(f"Expected {self._outputs} outputs from the source")
        made = tuple(self._made(each, batch_size, index) for index, each in enumerate(item))
        if len({isinstance(each, Batch) for each in made}) > 1:
            raise TypeError("the outputs must be all tensors or all batches")
        return made

    def captured(self, batch_size: int, ctx: EvalContext | None = None) -> Iterator[Any]:
        """All items up to the end, as batches; operators on them run as anywhere else."""
        with ctx or EvalContext.current():
            while True:
                try:
                    item = self(batch_size=batch_size)
                except StopIteration:
                    return
                yield item

    def _made(self, data: object, batch_size: int | None, index: int) -> Any:
        options = {"dtype": self._dtypes[index], "device": self._device, "layout": self._layouts[index]}
        if isinstance(data, (Batch, TensorListCPU)):
            made = as_batch(data, **options)
            if batch_size is not None and made.batch_size != batch_size:
                raise ValueError(f"Expected batch size {batch_size}, got {made.batch_size}")
            return made
        one = as_tensor(data, **options)
        return one if batch_size is None else Batch.broadcast(one, batch_size)

    def _for_each(self, value: object) -> Sequence[Any]:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            return (value,) * self._outputs
        if len(value) != self._outputs:
            raise ValueError(f"Expected a sequence of size {self._outputs}, got {len(value)}: one for each output")
        return value
