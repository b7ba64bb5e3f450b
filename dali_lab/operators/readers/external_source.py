"""Takes batches from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dali_lab.batch.batch import Batch
from dali_lab.schema import Arg, Call, Operator, Output, register
from dali_lab.schema.operator import Draw


@register
class ExternalSource(Operator):
    """Takes batches from a Python callable, iterable or generator, or from ``Pipeline.feed_input``."""

    name = "external_source"
    family = "readers"
    title = "External source"
    outputs = (Output("output", kind="any"),)
    devices = ("cpu", "gpu")
    source = True
    tested_elsewhere = "tests/unit/readers/test_external_source.py"
    arguments = (
        Arg("source", "object", None, "A callable, an iterable or a generator of batches or samples."),
        Arg("num_outputs", "int", None, "Number of outputs; when given, the source returns a tuple.", minimum=1),
        Arg("layout", "layout", None, "Layout of the samples; one for each output.", vector=True),
        Arg("batch", "bool", True, "The source returns batches; otherwise single samples."),
        Arg("cycle", "object", None, "What to do at the end: 'no', 'quiet' or 'raise'."),
    )

    def setup(self) -> None:
        self._iterator: Iterator[Any] | None = None

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return int(values.get("num_outputs") or 1)

    def draw(self, batch_size: int) -> Draw:
        source = self.value("source")
        if callable(source):
            data = source()
        else:
            if self._iterator is None:
                self._iterator = iter(source)
            data = next(self._iterator)
        columns = data if self.value("num_outputs") else (data,)
        layouts = self.value("layout") or ("",)
        batches = []
        for index, column in enumerate(columns):
            layout = layouts[min(index, len(layouts) - 1)]
            if isinstance(column, np.ndarray):
                batches.append(Batch.dense(column, layout))
            else:
                batches.append(Batch.of([np.asarray(item) for item in column], layout))
        return Draw(len(batches[0]), tuple(batches))

    def reset(self) -> None:
        self._iterator = None

    def run(self, call: Call) -> tuple[Batch, ...]:
        return tuple(batch.take(slice(call.start, call.start + call.count)) for batch in call.ticket)
