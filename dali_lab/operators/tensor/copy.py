"""Passes data on, and gives its properties."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import REQUIRED, Call, Case, Input, Operator, Output, choice, register, samples


@register
class Copy(Operator):
    """Gives its input again. Batches never change once they are made, so no data is moved."""

    name = "copy"
    outputs = (Output("output", doc="The samples of the input."),)
    inputs = (Input("data", kind="any", device="any", doc="Any tensors."),)
    on_gpu = True
    example = ">>> fn.copy(images)"

    def run(self, call: Call, data: Batch) -> Batch:
        return data.replaced()

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.sequences(),))
        yield Case((samples.tensors([(), (), ()], np.int16),))


@register
class GetProperty(Operator):
    """Gives a property of each sample as bytes: where it came from, or its layout."""

    name = "get_property"
    title = "Property"
    inputs = (Input("data", kind="any", device="any", doc="Any tensors."),)
    outputs = (Output("property", kind="tensor", doc="One-dimensional UINT8: the text's bytes."),)
    on_gpu = True
    arguments = (
        choice(
            "key",
            REQUIRED,
            ("source_info", "layout"),
            "`source_info`: the file or other origin of the sample, as readers set it; `layout`: the axis names.",
            important=True,
            refused_as="Unsupported property key: {}",
        ),
    )
    example = '>>> fn.get_property(encoded, key="source_info")'

    def run(self, call: Call, data: Batch) -> Batch:
        if self.value("key") == "layout":
            texts = [data.layout.encode()] * len(data)
        else:
            texts = [os.fsencode(source) for source in data.sources] if data.sources is not None else [b""] * len(data)
        lengths = np.array([len(text) for text in texts], np.int64)
        buffer = np.frombuffer(b"".join(texts), np.uint8)
        addresses = buffer.ctypes.data + np.cumsum(lengths) - lengths
        return Batch(addresses, lengths.reshape(-1, 1), UINT8, "", (buffer,), data.sources)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"key": "layout"})
        yield Case((samples.tensors([(2,), (3,), (1,)]),), {"key": "layout"})
        yield Case((samples.pictures(),), {"key": "source_info"})
