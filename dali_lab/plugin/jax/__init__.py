"""Pipelines in JAX: an iterator of dictionaries of arrays, and a decorator that makes one; needs jax."""

from dali_lab.plugin.base_iterator import LastBatchPolicy
from dali_lab.plugin.jax.iterator import DALIGenericIterator, data_iterator

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator"]
