"""Mathematical functions on data nodes, under NVIDIA DALI's module name."""

from dali_lab.graph.math import *  # noqa: F403
from dali_lab.graph.math import __all__ as __all__
