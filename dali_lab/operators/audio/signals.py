"""The reason of tolerances that operators on sound share."""

from __future__ import annotations

ROUNDING = "sums of float32 products in another order"
