"""Border modes: the number of each name that operators use."""

from __future__ import annotations

BORDERS = {
    "constant": 0,
    "replicate": 1,
    "clamp": 1,
    "reflect": 2,
    "reflect_1001": 2,
    "wrap": 3,
    "reflect_101": 4,
}
"""As the enumeration in ``common.cuh`` has them."""
