"""Iterators of JAX arrays; needs jax."""

from dali_lab.interop.jax.iterator import (
    DALIGenericIterator,
    data_iterator,
)

__all__ = [
    "DALIGenericIterator",
    "data_iterator",
]
