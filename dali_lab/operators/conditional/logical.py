"""``not``, and the check of operands of ``and`` and ``or``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import BOOL
from dali_lab.model.errors import OperatorError
from dali_lab.schema import Call, Case, Input, Operator, register, string


def check_logical(batch: Batch, expression: str, side: str) -> None:
    """Raise unless each sample is one bool.

    Raises
    ------
    OperatorError
        With the expression and its side.
    """
    rule = f"Logical expression `{expression}` is restricted to scalar (0-d tensors) inputs of `bool` type, that are"
    rule += " placed on CPU."
    where = f"as the {side} argument in logical expression."
    if batch.dtype is not BOOL:
        found = f"an input of type `{batch.dtype.name.lower()}` {where} Compare it with 0 to make it a bool"
        raise OperatorError(f"{rule} Got {found}")
    if batch.ndim:
        raise OperatorError(f"{rule} Got a {batch.ndim}-d input {where}")


@register
class ValidateLogical(Operator):
    """Checks that a side of ``and`` or ``or`` is one bool for each sample."""

    name = "_conditional.validate_logical"
    schema_name = "_conditional__ValidateLogical"
    family = "tensor"
    title = "Check a condition"
    inputs = (Input("input", kind="any"),)
    arguments = (
        string("expression_name", "and", "The expression that is checked."),
        string("expression_side", "left", "Which side of it."),
    )
    hidden = True
    syntax = "operand"
    tested_elsewhere = "tests/unit/pipeline/test_conditionals.py"

    def run(self, call: Call, batch: Batch) -> Batch:
        check_logical(batch, self.value("expression_name"), self.value("expression_side"))
        return batch


@register
class Not(Operator):
    """``not`` of one bool or number for each sample: true where it is zero."""

    name = "_conditional.not_"
    schema_name = "_conditional__Not_"
    family = "tensor"
    inputs = (Input("input", kind="any"),)
    hidden = True
    syntax = "not"

    def run(self, call: Call, batch: Batch) -> Batch:
        if batch.ndim:
            raise OperatorError(f"'not' takes scalars, got tensors with {batch.ndim} dimensions")
        return Batch.dense(batch.stacked() == 0)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case(([np.array(True), np.array(False), np.array(True)],))
        for dtype in (np.uint8, np.int64, np.float16, np.float64):
            yield Case(([np.array(42, dtype), np.array(0, dtype), np.array(1, dtype)],))
        yield Case(([np.float32(np.nan), np.float32(-0.0), np.float32(0.1)],))
