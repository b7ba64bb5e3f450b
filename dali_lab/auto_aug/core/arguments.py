"""Arguments that several automatic augmentations take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.graph.recorder import DataNode
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError


def for_warps(fill_value: int | None, interp_type: dtypes.DALIInterpType | None, shape: DataNode) -> dict[str, Any]:
    """The arguments that go on to warps; a `shape` only where it is given."""
    arguments = {"fill_value": fill_value, "interp_type": interp_type}
    return arguments if shape is None else {**arguments, "shape": shape}


def need_bins(num_magnitude_bins: object) -> None:
    """Refuse a number of magnitude bins that is not positive."""
    if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
        raise ArgumentError(
            f"The `num_magnitude_bins` must be a positive integer, got {num_magnitude_bins!r}",
            argument="num_magnitude_bins",
        )


def need_some(augmentations: Sequence[Any], caller: str, unless: str = "") -> None:
    """Refuse an empty list of augmentations."""
    if len(augmentations) == 0:
        message = f"The `augmentations` list cannot be empty{unless}. Got empty list in `{caller}` call."
        raise ArgumentError(message, argument="augmentations")
