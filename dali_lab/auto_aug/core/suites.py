"""Suites of augmentations: their common members, translations by pixels or by shares, exclusions, choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dali_lab.auto_aug.core.choosing import select
from dali_lab.auto_aug.core.magnitudes import signed_bin
from dali_lab.auto_aug.core.wrapping import Augmentation, MissingArgumentError
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, nearest

Limits: TypeAlias = float | tuple[float, float]
"""Longest translations: one number, or one for the height and one for the width."""


def translations(
    use_shape: bool,
    pixels: int,
    share: float,
    max_translate_abs: Limits | None = None,
    max_translate_rel: Limits | None = None,
) -> list[Augmentation]:
    """Translations along x and y, up to a share of the shape or a number of pixels.

    Parameters
    ----------
    use_shape
        By shares of height and width, rather than by pixels.
    pixels, share
        The default of each.
    max_translate_abs, max_translate_rel
        The limit of each; one number, or one for the height and one for the width.

    Raises
    ------
    ArgumentError
        If the limit of the other kind is given.
    """
    from dali_lab.auto_aug import augmentations as a

    if not isinstance(use_shape, bool):
        raise ArgumentTypeError(f"must be True or False, not {use_shape!r}", argument="use_shape")
    if use_shape and max_translate_abs is not None:
        raise ArgumentError("goes without shapes; give 'max_translate_rel'", argument="max_translate_abs")
    if not use_shape and max_translate_rel is not None:
        raise ArgumentError("goes with shapes; give 'max_translate_abs'", argument="max_translate_rel")
    given, default = (max_translate_rel, share) if use_shape else (max_translate_abs, pixels)
    limit = default if given is None else given
    height, width = _two_limits(limit, "max_translate_rel" if use_shape else "max_translate_abs")
    along_x, along_y = (a.translate_x, a.translate_y) if use_shape else (a.translate_x_no_shape, a.translate_y_no_shape)
    return [along_x.augmentation((0, width), True), along_y.augmentation((0, height), True)]


def _two_limits(limit: object, name: str) -> tuple[float, float]:
    pair = tuple(limit) if isinstance(limit, (tuple, list)) else (limit, limit)
    if len(pair) != 2 or not all(isinstance(one, (int, float, np.number)) and np.isfinite(one) for one in pair):
        raise ArgumentError(
            f"takes a number, or one for the height and one for the width, not {limit!r}", argument=name
        )
    return pair


def suite(
    moves: Sequence[Augmentation],
    shear: float,
    degrees: float,
    factors: tuple[float, float],
    bits: tuple[int, int],
    *,
    monotonic: bool = True,
) -> list[Augmentation]:
    """The 14 augmentations that the papers share.

    Parameters
    ----------
    moves
        Translations along x and y.
    shear, degrees
        The largest shear and angle.
    factors
        The range for brightness, contrast, colour and sharpness: distances from the neutral factor, with a random sign,
        where the suite is monotonic, else factors.
    bits
        Bits that the weakest and the strongest posterisation keeps.
    monotonic
        Higher bins are stronger for all of them.
    """
    from dali_lab.auto_aug import augmentations as a

    enhanced = (factors, monotonic, a.shift_enhance_range if monotonic else None)
    return [
        *moves,
        a.shear_x.augmentation((0, shear), True),
        a.shear_y.augmentation((0, shear), True),
        a.rotate.augmentation((0, degrees), True),
        a.brightness.augmentation(*enhanced),
        a.contrast.augmentation(*enhanced),
        a.color.augmentation(*enhanced),
        a.sharpness.augmentation(factors, monotonic, a.sharpness_kernel if monotonic else a.sharpness_kernel_shifted),
        a.posterize.augmentation(bits, False, a.poster_mask_uint8),
        a.solarize.augmentation((256, 0)) if monotonic else a.solarize.augmentation((0, 256), False, None),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]


def without(augmentations: Sequence[Augmentation], excluded: Iterable[str] | None, suite: str) -> list[Augmentation]:
    """The augmentations that are not named in `excluded`."""
    names = [augmentation.name for augmentation in augmentations]
    left_out = list(excluded or ())
    for name in left_out:
        if name not in names:
            raise ArgumentError(
                f"The `{name}` was specified in `excluded`, but the {suite} suite does not contain augmentation with"
                f" this name. The augmentations in the suite are: {', '.join(names)}{nearest(name, names)}.",
                argument="excluded",
            )
    return [augmentation for augmentation in augmentations if augmentation.name not in left_out]


def with_signs(augmentations: Iterable[Augmentation], magnitude_bin: Any, seed: int | None, shape: Any = None) -> Any:
    """The bin, joined with random signs where some augmentation negates its magnitude."""
    if any(augmentation.randomly_negate for augmentation in augmentations):
        return signed_bin(magnitude_bin, seed=seed, shape=shape)
    return magnitude_bin


def choose(augmentations: Sequence[Augmentation], chosen: Any, caller: str, **arguments: Any) -> Any:
    """Like :func:`select`; if a translation lacks the shape, the error says where to take it from."""
    try:
        return select(augmentations, chosen, **arguments)
    except MissingArgumentError as error:
        if error.missing_args != ["shape"]:
            raise
        raise ArgumentError(
            f"The augmentation `{error.augmentation.name}` requires `shape` argument that describes image shape (in HWC"
            f" layout). Please provide it as `shape` argument to `{caller}` call, for instance from"
            " fn.peek_image_shape, or take the suite without use_shape",
            argument="shape",
        ) from error
