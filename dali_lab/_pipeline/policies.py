"""Settings of NVIDIA DALI's executor that programs name; here they have no effect."""

from enum import Enum


class StreamPolicy(Enum):
    """How operators share CUDA streams."""

    UNSPECIFIED = 0
    SINGLE = 16
    PER_BACKEND = 32
    PER_OPERATOR = 48


class OperatorConcurrency(Enum):
    """Which operators may run at the same time; here all that do not depend on each other."""

    UNSPECIFIED = 0
    NONE = 2
    BACKEND = 4
    FULL = 6
