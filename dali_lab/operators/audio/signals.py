"""Input checks shared by operators on sound."""

from __future__ import annotations

from dali_lab.model.batch import Batch
from dali_lab.schema import Call

ROUNDING = "sums of float32 products in another order"


def need_elements(call: Call, data: Batch) -> None:
    """Raise if a sample is empty."""
    call.refuse(data.sizes == 0, "the sample is empty")
