"""Operators on whole sequences: extracting elements, reordering, marking per-frame values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import flag, integers

_MOST_OUTPUTS = 4096


def _check_sequence(call: Call, data: Batch) -> None:
    if data.layout and not data.layout.startswith("F"):
        raise call.problem(
            f"Input layout must describe a sequence - it must start with 'F', got '{data.layout}' instead. Expected"
            " sequence as the input, where outermost dimension represents frames dimension `F`, got data with layout ="
            f' "{data.layout}"'
        )
    if data.ndim < 2:
        raise call.problem(
            f"takes sequences of elements with dimensions; got {data.ndim} dimensions in all."
            " Input must have at least two dimensions - outermost for sequence and at least one for data elements."
        )


@register
class ElementExtract(Operator):
    """Takes elements out of sequences: one output for each index along the first axis."""

    name = "element_extract"
    title = "Extract elements"
    inputs = (Input("sequences", kind="tensor", doc="Sequences, with the layout empty or beginning with ``F``."),)
    outputs = (Output("element", kind="tensor", doc="The elements at one of the indices."),)
    on_gpu = True
    arguments = (
        integers(
            "element_map",
            REQUIRED,
            "Indices of the elements; one output for each.",
            minimum=0,
            important=True,
            refused_as="Negative indices in `element_map` are not allowed, found: {:g}",
        ),
    )
    start = {"element_map": [0]}
    example = ">>> first, last = fn.element_extract(sequences, element_map=[0, 7])"

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return len(np.atleast_1d(values.get("element_map", (0,))))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if not values.get("element_map"):
            raise ArgumentError("must hold at least one index", argument="element_map", operator=cls.name)
        if (count := cls.output_count(values)) > _MOST_OUTPUTS:
            message = f"an operator has at most {_MOST_OUTPUTS} outputs, not {count}"
            raise ArgumentError(message, argument="element_map", operator=cls.name)

    def run(self, call: Call, sequences: Batch) -> tuple[Batch, ...]:
        _check_sequence(call, sequences)
        inner = sequences.shapes[:, 1:]
        step = inner.prod(axis=1) * sequences.itemsize
        results = []
        for index in self.value("element_map"):
            lengths = sequences.shapes[:, 0]
            message = (
                f"Index `{index}` from `element_map` is out of bounds for sample with sequence length equal `{{}}`"
            )
            call.refuse(lengths <= index, message, lengths, argument="element_map")
            results.append(
                Batch(
                    sequences.addresses + step * index,
                    inner,
                    sequences.dtype,
                    sequences.layout[1:],
                    sequences.owners,
                    sequences.sources,
                )
            )
        return tuple(results)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = samples.tensors([(4, 2), (5, 3), (3, 2)], np.int16)
        yield Case((samples.sequences(),), {"element_map": [0]})
        yield Case(((rows, "FX"),), {"element_map": [2, 0]})
        yield Case(((rows, "FX"),), {"element_map": [1, 1, 2]})
        yield Case((rows,), {"element_map": 1})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        rows = samples.tensors([(4, 2), (5, 3), (3, 2)])
        yield ErrorCase((rows,), {"element_map": [3]}, ("element_map", "3", "sample 2"))
        yield ErrorCase((rows,), {"element_map": []}, ("element_map",))
        yield ErrorCase(((rows, "HW"),), {"element_map": [0]}, ("'F'", "HW"))
        yield ErrorCase((samples.tensors([(4,)] * 3),), {"element_map": [0]}, ("1 dimensions",))


@register
class SequenceRearrange(Operator):
    """Puts the elements of sequences in another order; they may be repeated or left out."""

    name = "sequence_rearrange"
    title = "Rearrange sequence"
    outputs = (Output("output", doc="The frames in their new order, with the type and layout of the input."),)
    inputs = (Input("sequences", kind="tensor", doc="Sequences, with the layout empty or beginning with ``F``."),)
    on_gpu = True
    arguments = (
        integers(
            "new_order", REQUIRED, "Index in the input of each element of the output.", tensor=True, important=True
        ),
    )
    start = {"new_order": [0]}
    example = ">>> fn.sequence_rearrange(sequences, new_order=[2, 1, 0])"

    def setup(self) -> None:
        if "new_order" not in self.connected and not self.values["new_order"]:
            raise self.fail("must hold at least one index. Empty result sequences are not allowed", "new_order")

    def run(self, call: Call, sequences: Batch) -> Batch:
        _check_sequence(call, sequences)
        given = call.batches.get("new_order")
        if given is not None and given.ndim > 1:
            message = f"Input with dimension {given.ndim} cannot be converted to dimension 1: it is a list of indices"
            raise call.problem(message, argument="new_order")
        orders = call.lists("new_order", np.int64) or []
        counts = np.array([len(order) for order in orders], np.int64)
        message = "must hold at least one index. Empty `new_order` for sample {} is not allowed"
        call.refuse(counts == 0, message, np.arange(len(counts)), argument="new_order")
        picked = np.concatenate(orders) if orders else np.zeros(0, np.int64)
        owners, place = rows_of(counts)
        message = "there is no element {} in a sequence of {}. new_order[{}] must be between 0 and"
        message += " input_sequence_length = {} for sample {}, but it is: {}"
        length = sequences.shapes[owners, 0]
        wrong = (picked < 0) | (picked >= length)
        parts = (picked, length, place, length, owners, picked)
        call.refuse(wrong, message, *parts, argument="new_order", owners=owners)
        shapes = sequences.shapes.copy()
        shapes[:, 0] = counts
        out = call.allocate(shapes, sequences.dtype, sequences.layout)
        inner = sequences.shapes[owners, 1:].prod(axis=1)
        source = sequences.addresses[owners] + picked * inner * sequences.itemsize
        target = out.addresses[owners] + place * inner * sequences.itemsize
        call.kernels("copy").copy(source, target, inner, sequences.itemsize)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = samples.tensors([(4, 2), (5, 3), (4, 2)], np.int16)
        for order in ([1, 0], [0, 0, 3], 3, [3, 2, 1, 0]):
            yield Case(((rows, "FX"),), {"new_order": order})
        yield Case((rows,), {"new_order": [1]})
        yield Case((rows,), {"new_order": PerSample.of([1, 2], [4], [0, 0, 1], dtype=np.int32)})
        yield Case((samples.sequences(frames=(2, 3, 2)),), {"new_order": [1, 0, 1]})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        rows = samples.tensors([(4, 2), (5, 3), (3, 2)])
        yield ErrorCase((rows,), {"new_order": [3]}, ("new_order", "3", "sample 2"))
        yield ErrorCase((rows,), {"new_order": [-1]}, ("new_order", "-1"))
        yield ErrorCase((rows,), {"new_order": []}, ("new_order", "at least one"))
        yield ErrorCase(((rows, "HW"),), {"new_order": [0]}, ("'F'", "HW"))


@register
class PerFrame(Operator):
    """Marks tensors as sequences, so that an argument takes one value for each frame.

    The layout is made to begin with ``F``; the data is left as it is.
    """

    name = "per_frame"
    outputs = (Output("output", doc="The same samples; their first axis is that of frames, F."),)
    inputs = (Input("data", kind="tensor", doc="Tensors whose first axis counts frames."),)
    on_gpu = True
    arguments = (flag("replace", "Replace another first letter by ``F``, instead of refusing it."),)
    example = """
    >>> angles = fn.per_frame(fn.random.uniform(range=[-5.0, 5.0], shape=[8]))
    >>> fn.rotate(sequences, angle=angles)
    """

    def run(self, call: Call, data: Batch) -> Batch:
        if not data.ndim:
            raise call.problem("a scalar has no frames. Cannot mark zero-dimensional input as a sequence")
        if not data.layout:
            return data.replaced(layout="F" + "*" * (data.ndim - 1))
        if data.layout[0] != "F" and not self.value("replace"):
            raise call.problem(
                "Per-frame argument input must be a sequence. The input layout should start with 'F',"
                f" got '{data.layout}'; see 'replace'"
            )
        return data.replaced(layout="F" + data.layout[1:])

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = samples.tensors([(4, 2), (5, 3), (3, 2)])
        yield Case((rows,))
        yield Case(((rows, "FX"),))
        yield Case(((rows, "HX"),), {"replace": True})
        yield Case((rows,), {"replace": True})
        yield Case((samples.tensors([(4,), (2,), (1,)]),))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase(((samples.tensors([(4, 2)] * 3), "HX"),), {}, ("'F'", "HX"))
        yield ErrorCase((samples.tensors([()] * 3),), {}, ("scalar",))
