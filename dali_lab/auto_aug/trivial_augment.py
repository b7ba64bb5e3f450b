"""TrivialAugment (`arXiv:2103.10158`): one augmentation and one magnitude drawn for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.auto_aug.core.arguments import for_warps, need_bins, need_some
from dali_lab.auto_aug.core.naming import named
from dali_lab.auto_aug.core.nodes import draw
from dali_lab.auto_aug.core.suites import Limits, choose, suite, translations, with_signs, without
from dali_lab.auto_aug.core.wrapping import Augmentation, forbid_unused
from dali_lab.graph.recorder import DataNode
from dali_lab.model import dtypes


@named
def trivial_augment_wide(
    data: Any,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: dtypes.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
    excluded: Sequence[str] | None = None,
) -> Any:
    """Apply TrivialAugment with its wide ranges.

    Parameters
    ----------
    data
        UINT8 images (HWC) or sequences (FHWC).
    num_magnitude_bins
        Number of bins that the magnitude is drawn from.
    shape, fill_value, interp_type, seed, excluded
        As in :func:`~dali_lab.auto_aug.rand_augment.rand_augment`.
    max_translate_abs, max_translate_rel
        As there; 32 pixels or 1 by default.

    Raises
    ------
    ArgumentError
        If a number is out of range, or there is no augmentation of an excluded name.
    """
    arguments = for_warps(fill_value, interp_type, shape)
    chosen = without(
        get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel),
        excluded,
        "TrivialAugmentWide",
    )
    return apply_trivial_augment(chosen, data, num_magnitude_bins=num_magnitude_bins, seed=seed, **arguments)


@named
def apply_trivial_augment(
    augmentations: Sequence[Augmentation],
    data: DataNode,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: object,
) -> Any:
    """Apply one of the given augmentations to each sample, of a magnitude bin drawn for it.

    `kwargs` are passed to those augmentations that take them; the rest is as in :func:`trivial_augment_wide`.

    Raises
    ------
    ArgumentError
        If a number is out of range, there are no augmentations, or an argument is taken by none of them.
    """
    need_bins(num_magnitude_bins)
    need_some(augmentations, "apply_trivial_augment")
    magnitude_bin: Any = draw(seed, values=list(range(num_magnitude_bins)), dtype=dtypes.INT32)
    magnitude_bin = with_signs(augmentations, magnitude_bin, seed)
    forbid_unused(augmentations, kwargs, "apply_trivial_augment")
    settings = {"magnitude_bin": magnitude_bin, "num_magnitude_bins": num_magnitude_bins, **kwargs}
    chosen = draw(seed, values=list(range(len(augmentations))), dtype=dtypes.INT32)
    return choose(augmentations, chosen, "apply_trivial_augment", data=data, **settings)


@named
def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> list[Augmentation]:
    """The 14 augmentations of the paper with its wide ranges; arguments as in :func:`trivial_augment_wide`."""
    moves = translations(use_shape, 32, 1.0, max_translate_abs, max_translate_rel)
    return suite(moves, 0.99, 135, (0.01, 0.99), (8, 2))
