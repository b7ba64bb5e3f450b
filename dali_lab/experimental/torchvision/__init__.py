"""torchvision's transforms on pipelines: :class:`Compose` and its steps; functions are in :mod:`v2.functional`."""

from dali_lab.model.extras import importing

with importing("torch", "'dali-lab[torch]'"):
    from dali_lab.experimental.torchvision import v2
    from dali_lab.interop.torchvision.color import ColorJitter, GaussianBlur, Grayscale, Normalize, RandomGrayscale
    from dali_lab.interop.torchvision.compose import Compose
    from dali_lab.interop.torchvision.conversion import PILToTensor, ToPILImage, ToPureTensor
    from dali_lab.interop.torchvision.interpolation import InterpolationMode
    from dali_lab.interop.torchvision.transforms import (
        CenterCrop,
        Pad,
        RandomApply,
        RandomCrop,
        RandomHorizontalFlip,
        RandomResizedCrop,
        RandomVerticalFlip,
        Resize,
    )

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToPureTensor",
    "v2",
]
