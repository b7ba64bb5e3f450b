"""Parts of automatic augmentations: augmentations with magnitudes, choice among them, policies."""

from dali_lab.auto_aug.core.choosing import select
from dali_lab.auto_aug.core.magnitudes import signed_bin
from dali_lab.auto_aug.core.policy import Policy
from dali_lab.auto_aug.core.wrapping import Augmentation as _Augmentation
from dali_lab.auto_aug.core.wrapping import augmentation

__all__ = ["Policy", "_Augmentation", "augmentation", "select", "signed_bin"]
