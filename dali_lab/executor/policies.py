"""NVIDIA DALI's executor policies, accepted from programs; they have no effect here."""

from enum import Enum


class StreamPolicy(Enum):
    """Sharing of CUDA streams between operators."""

    UNSPECIFIED = 0
    SINGLE = 16
    PER_BACKEND = 32
    PER_OPERATOR = 48


class OperatorConcurrency(Enum):
    """Which operators may run concurrently; here all that do not depend on each other."""

    UNSPECIFIED = 0
    NONE = 2
    BACKEND = 4
    FULL = 6


def policies(flags: int | None) -> dict[str, StreamPolicy | OperatorConcurrency]:
    """The policies that NVIDIA DALI serialized as `flags`, as arguments of a pipeline."""
    given = (("stream_policy", StreamPolicy((flags or 0) & 48)), ("concurrency", OperatorConcurrency((flags or 0) & 6)))
    return {name: policy for name, policy in given if policy.value}
