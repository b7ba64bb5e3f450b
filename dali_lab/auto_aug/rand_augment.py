"""RandAugment (`arXiv:1909.13719`): so many augmentations drawn for each sample, all of the same magnitude."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from dali_lab.auto_aug.core.arguments import for_warps, need_bins, need_some
from dali_lab.auto_aug.core.magnitudes import SignedBin
from dali_lab.auto_aug.core.naming import named
from dali_lab.auto_aug.core.nodes import draw
from dali_lab.auto_aug.core.suites import Limits, choose, suite, translations, with_signs, without
from dali_lab.auto_aug.core.wrapping import Augmentation, forbid_unused
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError


@named
def rand_augment(
    data: Any,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: dtypes.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: Sequence[str] | None = None,
) -> Any:
    """Apply RandAugment.

    Parameters
    ----------
    data
        UINT8 images (HWC) or sequences (FHWC).
    n
        Number of augmentations for each sample.
    m
        Magnitude bin of all of them, from 0 to ``num_magnitude_bins - 1``.
    num_magnitude_bins
        Number of bins.
    shape
        Height and width of the samples, numbers or a node. With it, translations go up to a share of it.
    fill_value
        Fills what warps uncover; `None` repeats the border.
    interp_type
        Interpolation of warps: INTERP_LINEAR (the default) or INTERP_NN.
    max_translate_abs
        Without `shape`: longest translation in pixels, or one for the height and one for the width; 100 by default.
    max_translate_rel
        With `shape`: longest translation as a share of the shape; 100 / 224 by default.
    seed
        Of all that is drawn.
    monotonic_mag
        Higher bins are stronger for all augmentations; otherwise ranges are those of AutoAugment.
    excluded
        Names of augmentations to leave out.

    Raises
    ------
    ArgumentError
        If a number is out of range, or there is no augmentation of an excluded name.
    """
    arguments = for_warps(fill_value, interp_type, shape)
    make = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    chosen = without(make(shape is not None, max_translate_abs, max_translate_rel), excluded, "RandAugment")
    return apply_rand_augment(chosen, data, n, m, num_magnitude_bins=num_magnitude_bins, seed=seed, **arguments)


@named
def apply_rand_augment(
    augmentations: Sequence[Augmentation],
    data: Any,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> Any:
    """Apply `n` of the given augmentations to each sample, drawn with replacement.

    `kwargs` are passed to those augmentations that take them; the rest is as in :func:`rand_augment`.

    Raises
    ------
    ArgumentError
        If a number is out of range, there are no augmentations, or an argument is taken by none of them.
    """
    if not isinstance(n, int) or n < 0:
        raise ArgumentError(
            f"The number of operations to apply `n` must be a non-negative integer, got {n!r}", argument="n"
        )
    need_bins(num_magnitude_bins)
    if not isinstance(m, int) or not 0 <= m < num_magnitude_bins:
        message = f"The magnitude bin `m` must be an integer from `[0, {num_magnitude_bins - 1}]` range. Got {m!r}."
        raise ArgumentError(message, argument="m")
    if n == 0:
        warnings.warn("The `apply_rand_augment` was called with `n=0`, no augmentation will be applied.", stacklevel=2)
        return data
    need_some(augmentations, "apply_rand_augment", ", unless n=0")
    many = n > 1
    stages = (n,) if many else ()
    chosen = draw(seed, values=list(range(len(augmentations))), shape=stages, dtype=dtypes.INT32)
    magnitude_bin = with_signs(augmentations, m, seed, stages)
    forbid_unused(augmentations, kwargs, "apply_rand_augment")
    settings = {"num_magnitude_bins": num_magnitude_bins, **kwargs}
    for stage in range(n):
        own = magnitude_bin[stage] if isinstance(magnitude_bin, SignedBin) and many else magnitude_bin
        place = chosen[stage] if many else chosen
        data = choose(augmentations, place, "apply_rand_augment", data=data, magnitude_bin=own, **settings)
    return data


@named
def get_rand_augment_suite(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> list[Augmentation]:
    """The augmentations of the paper, each stronger with a higher bin; arguments as in :func:`rand_augment`."""
    moves = translations(use_shape, 100, 100 / 224, max_translate_abs, max_translate_rel)
    return suite(moves, 0.3, 30, (0, 0.9), (8, 4))


@named
def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> list[Augmentation]:
    """The same with the ranges of AutoAugment, where a higher bin is not always stronger."""
    moves = translations(use_shape, 100, 100 / 224, max_translate_abs, max_translate_rel)
    return suite(moves, 0.3, 30, (0.1, 1.9), (0, 4), monotonic=False)
