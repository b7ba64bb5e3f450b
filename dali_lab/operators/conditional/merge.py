"""Joins the two parts into which a condition split a batch."""

from __future__ import annotations

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import name_in_messages
from dali_lab.model.errors import OperatorError
from dali_lab.operators.conditional.split import PREDICATE, decisions
from dali_lab.schema import Call, Input, Operator, register


@register
class Merge(Operator):
    """Puts the samples of both branches of a condition back in their order."""

    name = "_conditional.merge"
    schema_name = "_conditional__Merge"
    family = "tensor"
    inputs = (Input("true", kind="any", doc="Samples for which the condition holds."), Input("false", kind="any"))
    arguments = (PREDICATE,)
    on_gpu = True
    whole_batch = True
    joins_scopes = True
    hidden = True
    tested_elsewhere = "tests/unit/pipeline/test_conditionals.py"

    def run(self, call: Call, true: Batch, false: Batch) -> Batch:
        mask = decisions(call, call.batches["predicate"])
        if not len(true) or not len(false):
            return true if len(true) else false
        for what, left, right in (
            ("types", name_in_messages(true.dtype), name_in_messages(false.dtype)),
            ("sample dimensions", true.ndim, false.ndim),
            ("layouts", f'"{true.layout}"', f'"{false.layout}"'),
        ):
            if left != right:
                raise OperatorError(
                    "Divergent data found in different branches of conditional operation. All paths in conditional"
                    " operation are merged into one batch which must have consistent type, number of dimensions, layout"
                    f" and other metadata. Found distinct {what}: {left} and {right}. The first is that of the `if`"
                    " branch"
                )
        both = Batch.concat([true, false])
        order = np.empty(len(mask), np.int64)
        order[np.flatnonzero(mask)] = np.arange(len(true))
        order[np.flatnonzero(~mask)] = np.arange(len(true), len(mask))
        return both.take(order)
