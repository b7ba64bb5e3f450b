"""Iterators that can look ahead, for Google's CLU; needs jax and clu."""

from dali_lab.model.extras import importing

with importing("clu", "clu"):
    from dali_lab.interop.jax.clu import (
        DALIGenericPeekableIterator,
        get_spec_for_array,
        peekable_data_iterator,
    )

__all__ = [
    "DALIGenericPeekableIterator",
    "get_spec_for_array",
    "peekable_data_iterator",
]
