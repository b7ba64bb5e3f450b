"""TrivialAugment (`arXiv:2103.10158`): one augmentation and one magnitude drawn for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.auto_aug import augmentations as a
from dali_lab.auto_aug.core import signed_bin
from dali_lab.auto_aug.core.arguments import for_warps, need_bins, need_some
from dali_lab.auto_aug.core.naming import named
from dali_lab.auto_aug.core.nodes import draw
from dali_lab.auto_aug.core.suites import choose, translations, without
from dali_lab.auto_aug.core.wrapping import Augmentation, forbid_unused
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
    shape
        Height and width of the samples, numbers or a node. With it, translations go up to a share of it.
    fill_value
        Fills what warps uncover; `None` repeats the border.
    interp_type
        Interpolation of warps: INTERP_LINEAR (the default) or INTERP_NN.
    max_translate_abs
        Without `shape`: longest translation in pixels, or one for the height and one for the width; 32 by default.
    max_translate_rel
        With `shape`: longest translation as a share of the shape; 1 by default.
    seed
        Of all that is drawn.
    excluded
        Names of augmentations to leave out.

    Raises
    ------
    ArgumentError
        If a number is out of range, or there is no augmentation of an excluded name.
    """
    arguments = for_warps(fill_value, interp_type, shape)
    suite = without(get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel), excluded)
    return apply_trivial_augment(suite, data, num_magnitude_bins=num_magnitude_bins, seed=seed, **arguments)


@named
def apply_trivial_augment(
    augmentations: Sequence[Augmentation],
    data: Any,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> Any:
    """Apply one of the given augmentations to each sample, of a magnitude bin drawn for it.

    `kwargs` are passed to those augmentations that take them; the rest is as in :func:`trivial_augment_wide`.

    Raises
    ------
    ArgumentError
        If a number is out of range, there are no augmentations, or an argument is taken by none of them.
    """
    need_bins(num_magnitude_bins)
    need_some(augmentations)
    magnitude_bin: Any = draw(seed, values=list(range(num_magnitude_bins)), dtype=dtypes.INT32)
    if any(augmentation.randomly_negate for augmentation in augmentations):
        magnitude_bin = signed_bin(magnitude_bin, seed=seed)
    forbid_unused(augmentations, kwargs, "apply_trivial_augment")
    arguments = {"data": data, "magnitude_bin": magnitude_bin, "num_magnitude_bins": num_magnitude_bins, **kwargs}
    chosen = draw(seed, values=list(range(len(augmentations))), dtype=dtypes.INT32)
    return choose(augmentations, chosen, arguments, "apply_trivial_augment")


@named
def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[Augmentation]:
    """The 14 augmentations of the paper with its wide ranges; arguments as in :func:`trivial_augment_wide`."""
    return [
        *translations(use_shape, 32, 1.0, max_translate_abs, max_translate_rel),
        a.shear_x.augmentation((0, 0.99), True),
        a.shear_y.augmentation((0, 0.99), True),
        a.rotate.augmentation((0, 135), True),
        a.brightness.augmentation((0.01, 0.99), True, a.shift_enhance_range),
        a.contrast.augmentation((0.01, 0.99), True, a.shift_enhance_range),
        a.color.augmentation((0.01, 0.99), True, a.shift_enhance_range),
        a.sharpness.augmentation((0.01, 0.99), True, a.sharpness_kernel),
        a.posterize.augmentation((8, 2), False, a.poster_mask_uint8),
        a.solarize.augmentation((256, 0)),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]
