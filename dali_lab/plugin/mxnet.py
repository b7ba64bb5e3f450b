"""Iterators of MXNet's form, over NumPy arrays: NVIDIA DALI 2.4 and this package need no MXNet, which has ended."""

import warnings

from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.mxnet import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIGluonIterator,
    feed_ndarray,
)
from dali_lab.model.user_code import user_stacklevel

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGluonIterator",
    "LastBatchPolicy",
    "feed_ndarray",
]

warnings.warn(
    "MXNet has ended and NVIDIA DALI has no plugin for it any more: these iterators give NumPy arrays (with asnumpy)",
    DeprecationWarning,
    stacklevel=user_stacklevel(),
)
