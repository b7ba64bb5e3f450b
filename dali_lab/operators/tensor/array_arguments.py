"""Arrays given for arguments that take a node: a node of a constant stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def with_arrays_as_nodes(kwargs: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The arguments, with arrays of one or more dimensions among `names` turned into nodes of constants."""
    from dali_lab.graph.constants import implied_constant

    result = dict(kwargs)
    for name in names:
        value = result.get(name)
        if value is not None and hasattr(value, "__array__") and np.ndim(value) > 0:
            result[name] = implied_constant(value)
    return result
