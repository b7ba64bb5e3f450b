"""Splits a batch in two by a condition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError
from dali_lab.schema import Arg, Call, Input, Operator, Output, flag, register
from dali_lab.schema.arguments import REQUIRED

PREDICATE = Arg(
    "predicate", "bool", REQUIRED, "For each sample: whether it belongs to the true branch.", tensor=True, fed=()
)


def decisions(call: Call, predicate: Batch) -> npt.NDArray[np.bool_]:
    """The value of a condition for each sample.

    Raises
    ------
    OperatorError
        If it is not one number for each sample.
    """
    if predicate.ndim != 0 and len(predicate):
        raise OperatorError(
            "Conditions inside `if` statements are restricted to scalar (0-d tensors) inputs, that are placed on CPU."
            f" Got a {predicate.ndim}-d input as a condition of the `if` statement."
        )
    if not len(predicate):
        return np.zeros(0, bool)
    return predicate.stacked().astype(predicate.kind).astype(bool)


@register
class Split(Operator):
    """Gives the samples for which a condition holds, and the others."""

    name = "_conditional.split"
    schema_name = "_conditional__Split"
    family = "tensor"
    title = "Split by a condition"
    inputs = (Input("input", kind="any", doc="Any batch."),)
    outputs = (Output("true", kind="any"), Output("false", kind="any"))
    arguments = (PREDICATE, flag("_if_stmt", "Part of an 'if' statement.", advanced=True))
    on_gpu = True
    whole_batch = True
    hidden = True
    tested_elsewhere = "tests/unit/pipeline/test_conditionals.py"

    @classmethod
    def cut_of_output(cls, index: int) -> int | None:
        return index

    def run(self, call: Call, batch: Batch) -> tuple[Batch, Batch]:
        mask = decisions(call, call.batches["predicate"])
        return batch.take(np.flatnonzero(mask)), batch.take(np.flatnonzero(~mask))
