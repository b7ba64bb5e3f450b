"""AutoAugment (`arXiv:1805.09501`): policies found by search, one sequence of augmentations for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.auto_aug import augmentations as a
from dali_lab.auto_aug.core import Policy
from dali_lab.auto_aug.core.arguments import for_warps
from dali_lab.auto_aug.core.naming import named
from dali_lab.auto_aug.core.nodes import constant, draw
from dali_lab.auto_aug.core.suites import Limits, choose, suite, translations, with_signs
from dali_lab.auto_aug.core.wrapping import Augmentation, forbid_unused
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError, nearest

UNUSED_BIN = -999
"""Stands for the magnitude of steps without one."""


@named
def auto_augment(
    data: Any,
    policy_name: str = "image_net",
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: dtypes.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
) -> Any:
    """Apply one of the policies of the paper.

    Parameters
    ----------
    data
        UINT8 images (HWC) or sequences (FHWC).
    policy_name
        ``image_net``, ``reduced_image_net``, ``svhn`` or ``reduced_cifar10``.
    shape, fill_value, interp_type, seed
        As in :func:`~dali_lab.auto_aug.rand_augment.rand_augment`.
    max_translate_abs, max_translate_rel
        As there; 250 pixels or 1 by default.

    Raises
    ------
    ArgumentError
        If there is no such policy, or arguments do not go with it.
    """
    policies = {
        "image_net": get_image_net_policy,
        "reduced_image_net": None,
        "svhn": get_svhn_policy,
        "reduced_cifar10": get_reduced_cifar10_policy,
    }
    if not isinstance(policy_name, str) or policy_name not in policies:
        raise ArgumentError(
            f"The `policy_name` must be a string that takes one of the values: `{'`, `'.join(policies)}`, got"
            f" {policy_name!r}{nearest(str(policy_name), policies)}",
            argument="policy_name",
        )
    make = policies[policy_name]
    if make is None:
        limits = {"shape": shape, "max_translate_abs": max_translate_abs, "max_translate_rel": max_translate_rel}
        for name, value in limits.items():
            if value is not None:
                raise ArgumentError(f"does not go with the policy '{policy_name}', which moves nothing", argument=name)
        policy = get_reduced_image_net_policy()
    else:
        policy = make(shape is not None, max_translate_abs, max_translate_rel)
    return apply_auto_augment(policy, data, seed, **for_warps(fill_value, interp_type, shape))


def auto_augment_image_net(
    data: Any,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: dtypes.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
) -> Any:
    """Apply the policy ``image_net``; see :func:`auto_augment`."""
    return auto_augment(
        data, "image_net", shape, fill_value, interp_type, max_translate_abs, max_translate_rel, seed
    )  # fmt: skip


@named
def apply_auto_augment(policy: Policy, data: Any, seed: int | None = None, **kwargs: Any) -> Any:
    """Apply a policy: choose one of its sequences for each sample, and then whether to take each step.

    Parameters
    ----------
    policy
        The sequences.
    data
        Samples to augment.
    seed
        Of all that is drawn.
    kwargs
        Passed to those augmentations that take them, such as ``shape``, ``fill_value`` and ``interp_type``.

    Raises
    ------
    ArgumentError
        If the policy is empty, or an argument is taken by none of its augmentations.
    """
    if len(policy.sub_policies) == 0:
        raise ArgumentError(f"Cannot run empty policy. Got {policy!r} in `apply_auto_augment` call.", argument="policy")
    length = max(len(sub_policy) for sub_policy in policy.sub_policies)
    luck = draw(seed, range=[0, 1], shape=(length,), dtype=dtypes.FLOAT)
    sub_policy = draw(seed, values=list(range(len(policy.sub_policies))), dtype=dtypes.INT32)
    probabilities, bins = _tables(policy, length)
    places, choices = _sub_policy_to_augmentation_matrix_map(policy)
    probability = constant(probabilities)[sub_policy]
    magnitude_bin: Any = constant(bins)[sub_policy]
    place = constant(places)[sub_policy]
    magnitude_bin = with_signs(policy.augmentations.values(), magnitude_bin, seed, (length,))
    forbid_unused(policy.augmentations.values(), kwargs, "apply_auto_augment")
    settings = {"num_magnitude_bins": policy.num_magnitude_bins, **kwargs}
    for stage in range(length):
        if luck[stage] < probability[stage]:
            magnitude = magnitude_bin[stage]
            data = choose(
                choices[stage], place[stage], "apply_auto_augment", data=data, magnitude_bin=magnitude, **settings
            )
    return data


def _tables(policy: Policy, length: int) -> tuple[Any, Any]:
    """For each sequence and stage: probability and magnitude bin."""
    count = len(policy.sub_policies)
    probabilities = np.zeros((count, length), np.float32)
    bins = np.zeros((count, length), np.int32)
    for row, sub_policy in enumerate(policy.sub_policies):
        for stage, (_, probability, magnitude) in enumerate(sub_policy):
            probabilities[row, stage] = probability
            bins[row, stage] = UNUSED_BIN if magnitude is None else magnitude
    return probabilities, bins


def _sub_policy_to_augmentation_matrix_map(policy: Policy) -> tuple[np.ndarray[Any, Any], list[list[Augmentation]]]:
    """For each sequence and stage the place in the stage's list of augmentations; and these lists."""
    length = max(len(sub_policy) for sub_policy in policy.sub_policies)
    choices: list[list[Augmentation]] = []
    for stage in range(length):
        steps = [sub_policy[stage] for sub_policy in policy.sub_policies if stage < len(sub_policy)]
        choices.append([*dict.fromkeys(step[0] for step in steps), a.identity])
    places = np.empty((len(policy.sub_policies), length), np.int32)
    places[:] = [len(stage) - 1 for stage in choices]
    for row, sub_policy in enumerate(policy.sub_policies):
        for stage, (augmentation, _, _) in enumerate(sub_policy):
            places[row, stage] = choices[stage].index(augmentation)
    return places, choices


def _policy(
    name: str,
    text: str,
    use_shape: bool = False,
    max_translate_abs: Limits | None = None,
    max_translate_rel: Limits | None = None,
) -> Policy:
    """A policy from lines such as ``equalize 0.8, shear_y 0.8 4``: name, probability and magnitude bin of each step."""
    moves = translations(use_shape, 250, 1.0, max_translate_abs, max_translate_rel)
    shared = suite(moves, 0.3, 30, (0.1, 1.9), (0, 4), monotonic=False)
    every = {one.name: one for one in (*shared, a.solarize_add.augmentation((0, 110), False), a.invert)}
    sub_policies = []
    for line in text.strip().splitlines():
        steps = []
        for step in line.split(","):
            word, probability, *magnitude = step.split()
            steps.append((every[word], float(probability), int(magnitude[0]) if magnitude else None))
        sub_policies.append(steps)
    return Policy(name, 11, sub_policies)


@named
def get_image_net_policy(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> Policy:
    """The policy that was found for ImageNet; arguments as in :func:`auto_augment`."""
    return _policy("ImageNetPolicy", _IMAGE_NET, use_shape, max_translate_abs, max_translate_rel)


@named
def get_reduced_cifar10_policy(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> Policy:
    """The policy that was found for a part of CIFAR-10; arguments as in :func:`auto_augment`."""
    return _policy("ReducedCifar10Policy", _REDUCED_CIFAR10, use_shape, max_translate_abs, max_translate_rel)


@named
def get_svhn_policy(
    use_shape: bool = False, max_translate_abs: Limits | None = None, max_translate_rel: Limits | None = None
) -> Policy:
    """The policy that was found for SVHN; arguments as in :func:`auto_augment`."""
    return _policy("SvhnPolicy", _SVHN, use_shape, max_translate_abs, max_translate_rel)


def get_reduced_image_net_policy() -> Policy:
    """The policy that was found for a part of ImageNet."""
    return _policy("ReducedImageNetPolicy", _REDUCED_IMAGE_NET)


_IMAGE_NET = """
equalize 0.8, shear_y 0.8 4
color 0.4 9, equalize 0.6
color 0.4 1, rotate 0.6 8
solarize 0.8 3, equalize 0.4
solarize 0.4 2, solarize 0.6 2
color 0.2 0, equalize 0.8
equalize 0.4, solarize_add 0.8 3
shear_x 0.2 9, rotate 0.6 8
color 0.6 1, equalize 1.0
invert 0.4, rotate 0.6 0
equalize 1.0, shear_y 0.6 3
color 0.4 7, equalize 0.6
posterize 0.4 6, auto_contrast 0.4
solarize 0.6 8, color 0.6 9
solarize 0.2 4, rotate 0.8 9
rotate 1.0 7, translate_y 0.8 9
solarize 0.8 4
shear_y 0.8 0, color 0.6 4
color 1.0 0, rotate 0.6 2
equalize 0.8
equalize 1.0, auto_contrast 0.6
shear_y 0.4 7, solarize_add 0.6 7
posterize 0.8 2, solarize 0.6 10
solarize 0.6 8, equalize 0.6
color 0.8 6, rotate 0.4 5
"""
_REDUCED_CIFAR10 = """
invert 0.1, contrast 0.2 6
rotate 0.7 2, translate_x 0.3 9
sharpness 0.8 1, sharpness 0.9 3
shear_y 0.5 8, translate_y 0.7 9
auto_contrast 0.5, equalize 0.9
shear_y 0.2 7, posterize 0.3 7
color 0.4 3, brightness 0.6 7
sharpness 0.3 9, brightness 0.7 9
equalize 0.6, equalize 0.5
contrast 0.6 7, sharpness 0.6 5
color 0.7 7, translate_x 0.5 8
equalize 0.3, auto_contrast 0.4
translate_y 0.4 3, sharpness 0.2 6
brightness 0.9 6, color 0.2 8
solarize 0.5 2
equalize 0.2, auto_contrast 0.6
equalize 0.2, equalize 0.6
color 0.9 9, equalize 0.6
auto_contrast 0.8, solarize 0.2 8
brightness 0.1 3, color 0.7 0
solarize 0.4 5, auto_contrast 0.9
translate_y 0.9 9, translate_y 0.7 9
auto_contrast 0.9, solarize 0.8 3
equalize 0.8, invert 0.1
translate_y 0.7 9, auto_contrast 0.9
"""
_SVHN = """
shear_x 0.9 4, invert 0.2
shear_y 0.9 8, invert 0.7
equalize 0.6, solarize 0.6 6
invert 0.9, equalize 0.6
equalize 0.6, rotate 0.9 3
shear_x 0.9 4, auto_contrast 0.8
shear_y 0.9 8, invert 0.4
shear_y 0.9 5, solarize 0.2 6
invert 0.9, auto_contrast 0.8
equalize 0.6, rotate 0.9 3
shear_x 0.9 4, solarize 0.3 3
shear_y 0.8 8, invert 0.7
equalize 0.9, translate_y 0.6 6
invert 0.9, equalize 0.6
contrast 0.3 3, rotate 0.8 4
invert 0.8
shear_y 0.7 6, solarize 0.4 8
invert 0.6, rotate 0.8 4
shear_y 0.3 7, translate_x 0.9 3
shear_x 0.1 6, invert 0.6
solarize 0.7 2, translate_y 0.6 7
shear_y 0.8 4, invert 0.8
shear_x 0.7 9, translate_y 0.8 3
shear_y 0.8 5, auto_contrast 0.7
shear_x 0.7 2, invert 0.1
"""
_REDUCED_IMAGE_NET = """
posterize 0.4 8, rotate 0.6 9
solarize 0.6 5, auto_contrast 0.6
equalize 0.8, equalize 0.6
posterize 0.6 7, posterize 0.6 6
equalize 0.4, solarize 0.2 4
equalize 0.4, rotate 0.8 8
solarize 0.6 3, equalize 0.6
posterize 0.8 5, equalize 1.0
rotate 0.2 3, solarize 0.6 8
equalize 0.6, posterize 0.4 6
rotate 0.8 8, color 0.4 0
rotate 0.4 9, equalize 0.6
equalize 0.8
invert 0.6, equalize 1.0
color 0.6 4, contrast 1.0 8
rotate 0.8 8, color 1.0 2
color 0.8 8, solarize 0.8 7
sharpness 0.4 7, invert 0.6
shear_x 0.6 5, equalize 1.0
color 0.4 0, equalize 0.6
equalize 0.4, solarize 0.2 4
solarize 0.6 5, auto_contrast 0.6
invert 0.6, equalize 1.0
color 0.6 4, contrast 1.0 8
equalize 0.8, equalize 0.6
"""
