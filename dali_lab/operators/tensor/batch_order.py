"""Permutes the samples of a batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.tensor.shapes_of_output import integer_table
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import flag, integers


@register
class PermuteBatch(Operator):
    """Puts the samples of a batch in another order: output sample i is input sample ``indices[i]``."""

    name = "permute_batch"
    outputs = (Output("output", doc="The samples in their new order."),)
    whole_batch = True
    inputs = (Input("data", kind="any", doc="Any batch."),)
    on_gpu = True
    arguments = (
        integers(
            "indices",
            REQUIRED,
            "Index of the sample that comes to each place: a list as long as the batch, or a node of scalars.",
            tensor=True,
            important=True,
        ),
    )
    example = ">>> fn.permute_batch(images, indices=fn.batch_permutation())"

    def run(self, call: Call, data: Batch) -> Batch:
        batch = call.batches.get("indices")
        if batch is None:
            indices = np.array(self.values["indices"], np.int64)
            if len(indices) != len(data):
                raise call.problem(
                    f"The number of sample indices {len(indices)} does not match the current batch size, which is"
                    f" {len(data)}",
                    argument="indices",
                )
        else:
            if batch.ndim:
                raise call.problem(f"must be a scalar in each sample, got {batch.ndim} dimensions", argument="indices")
            indices = integer_table(call, batch, "indices")[:, 0]
        wrong = (indices < 0) | (indices >= len(data))
        message = f"there is no sample {{}} in a batch of {len(data)}. Sample index out of range."
        message += f" {{}} is not a valid index for an input batch of {len(data)} tensors."
        call.refuse(wrong, message, indices, indices, argument="indices")
        return data.take(indices)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"indices": [2, 0, 1]})
        yield Case((samples.pictures(),), {"indices": [1, 1, 1]})
        order = PerSample.of(1, 2, 0, dtype=np.int32)
        yield Case((samples.pictures(),), {"indices": order}, name="benchmark")
        yield Case((samples.tensors([(), (), ()]),), {"indices": PerSample.of(2, 2, 0, dtype=np.int32)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"indices": [0, 1]}, ("indices", "sample indices"))
        yield ErrorCase((samples.pictures(),), {"indices": [0, 1, 3]}, ("indices", "no sample 3"))
        yield ErrorCase((samples.pictures(),), {"indices": [0, -1, 2]}, ("indices", "no sample -1"))


@register
class BatchPermutation(Operator):
    """Draws an order of the samples of a batch, for ``permute_batch``: one index for each sample."""

    name = "batch_permutation"
    family = "random"
    random = True
    whole_batch = True
    outputs = (
        Output(
            "indices", kind="tensor", doc="One INT32 scalar a sample: the index of the sample that takes its place."
        ),
    )
    arguments = (
        flag("allow_repetitions", "An index may come several times, and others not at all."),
        flag("no_fixed_points", "No index is at its own place; has no effect on a batch of one sample."),
        Arg("_scope", "bool", None, "In a branch of a condition: a node with its samples.", tensor=True, fed=()),
    )
    example = """
    >>> order = fn.batch_permutation(no_fixed_points=True)
    >>> others = fn.permute_batch(images, indices=order)
    """

    def run(self, call: Call) -> Batch:
        from dali_lab.kernels.cpu.draws import permutation

        order = permutation(
            call.generator,
            call.count,
            allow_repetitions=bool(self.value("allow_repetitions")),
            no_fixed_points=bool(self.value("no_fixed_points")),
        )
        return Batch.dense(order.astype(np.int32))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        for size in (1, 2, 7, 8):
            for repeat in (False, True):
                for apart in (False, True):
                    arguments = {"allow_repetitions": repeat, "no_fixed_points": apart}
                    yield Case((), arguments, batch_size=size, batches=3)
        yield Case((), {"seed": 77}, batch_size=5, batches=2)
