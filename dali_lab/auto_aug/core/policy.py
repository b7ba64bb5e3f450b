"""Policies of AutoAugment: sequences of augmentations, with probabilities and magnitudes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from dali_lab.auto_aug.core.arguments import need_bins
from dali_lab.auto_aug.core.naming import named
from dali_lab.auto_aug.core.wrapping import Augmentation
from dali_lab.model.errors import ArgumentError, ArgumentTypeError

Step = tuple[Augmentation, float, int | None]
SubPolicy = tuple[Step, ...]


class Policy:
    """Sequences of augmentations, one of which is chosen for each sample (`arXiv:1805.09501`).

    Parameters
    ----------
    name
        For people.
    num_magnitude_bins
        Number of bins that ranges of magnitudes are cut into.
    sub_policies
        Sequences of steps ``(augmentation, probability, magnitude bin or None)``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a step has another form, a probability or a bin is out of range, or a bin is missing.
    """

    @named
    def __init__(self, name: str, num_magnitude_bins: int, sub_policies: Sequence[Sequence[Step]]) -> None:
        need_bins(num_magnitude_bins)
        if not isinstance(sub_policies, (list, tuple)):
            message = f"The `sub_policies` must be a list or tuple of sub policies, not {type(sub_policies).__name__}"
            raise ArgumentTypeError(message, argument="sub_policies")
        self.name = name
        self.num_magnitude_bins = num_magnitude_bins
        for sub_policy in sub_policies:
            if not isinstance(sub_policy, (list, tuple)):
                raise ArgumentTypeError(
                    f"Each sub policy must be a list or tuple of steps, not {sub_policy!r}", argument="sub_policies"
                )
            for step in sub_policy:
                self._check(step)
        self.sub_policies = _with_names_of_their_own(sub_policies)

    def _check(self, step: object) -> None:
        if not isinstance(step, (list, tuple)) or len(step) != 3:
            raise ArgumentTypeError(
                "Each operation in sub policy must be specified as a triple: (augmentation, probability, magnitude)."
                f" Got {step!r}; without magnitudes the bin is None",
                argument="sub_policies",
            )
        augmentation, probability, magnitude = step
        if not isinstance(augmentation, Augmentation):
            raise ArgumentTypeError(
                f"Each augmentation in sub policies must be an instance of Augmentation. Got `{augmentation!r}`;"
                " @augmentation makes one of a function",
                argument="sub_policies",
            )
        if not isinstance(probability, (float, int)) or not 0 <= probability <= 1:
            raise ArgumentError(
                "Probability of applying the augmentation must be a number from `[0, 1]` range."
                f" Got `{probability!r}` for augmentation `{augmentation.name}`",
                argument="sub_policies",
            )
        if probability == 0:
            warnings.warn(
                f"The augmentation `{augmentation.name}` in policy `{self.name}` is used with probability 0 in one of"
                " the sub-policies",
                stacklevel=4,
            )
        if magnitude is None:
            if augmentation.mag_range is not None:
                raise ArgumentError(
                    f"The augmentation `{augmentation.name}` has `mag_range` specified, so the magnitude bin is"
                    f" required. However, got `None` in the policy `{self.name}`",
                    argument="sub_policies",
                )
            return
        if augmentation.mag_range is None:
            warnings.warn(
                f"The magnitude bin `{magnitude}` for augmentation `{augmentation.name}` in policy `{self.name}` will"
                " be ignored. The augmentation does not accept magnitudes (it has no `mag_range`); write None",
                stacklevel=4,
            )
        if not isinstance(magnitude, int) or not 0 <= magnitude < self.num_magnitude_bins:
            raise ArgumentError(
                f"Magnitude of the augmentation must be an integer from `[0, {self.num_magnitude_bins - 1}]` range."
                f" Got `{magnitude!r}` for augmentation `{augmentation.name}`",
                argument="sub_policies",
            )

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """All augmentations by their names."""
        every = {augmentation for sub_policy in self.sub_policies for augmentation, _, _ in sub_policy}
        return {augmentation.name: augmentation for augmentation in sorted(every, key=lambda one: one.name)}

    def __repr__(self) -> str:
        steps = [repr([(augmentation.name, p, bin_) for augmentation, p, bin_ in sub]) for sub in self.sub_policies]
        augmentations = [f"{name!r}: {augmentation!r}" for name, augmentation in self.augmentations.items()]
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins!r},"
            f" sub_policies=[{_lines(steps)}], augmentations={{{_lines(augmentations)}}})"
        )


def _lines(entries: Sequence[str]) -> str:
    """Entries one below the other, as NVIDIA DALI prints them."""
    return "\n\t" + ",\n\t".join(entries) if entries else ""


def _with_names_of_their_own(sub_policies: Sequence[Sequence[Step]]) -> tuple[SubPolicy, ...]:
    """The same steps; where two augmentations share a name, all are renamed by number."""
    every = list(dict.fromkeys(augmentation for sub in sub_policies for augmentation, _, _ in sub))
    renamed = {augmentation: augmentation for augmentation in every}
    if len({augmentation.name for augmentation in every}) < len(every):
        digits = len(str(len(every) - 1))
        renamed = {one: one.augmentation(name=f"{index:0{digits}}__{one.name}") for index, one in enumerate(every)}
    return tuple(tuple((renamed[augmentation], p, bin_) for augmentation, p, bin_ in sub) for sub in sub_policies)
