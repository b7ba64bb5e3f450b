"""The second version of torchvision's interface."""

from dali_lab.experimental.torchvision.v2 import functional

__all__ = ["functional"]
