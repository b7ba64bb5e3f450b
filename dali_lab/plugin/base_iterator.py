"""Classes that the iterators of all frameworks share, under NVIDIA DALI's module name."""

from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.iterator_state import IteratorError

__all__ = [
    "IteratorError",
    "LastBatchPolicy",
]
