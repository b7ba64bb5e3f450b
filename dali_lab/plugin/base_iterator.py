"""Classes that the iterators of all frameworks share, under NVIDIA DALI's module name."""

from dali_lab.interop.iteration import (
    IteratorError,
    LastBatchPolicy,
)

__all__ = [
    "IteratorError",
    "LastBatchPolicy",
]
