"""Pipelines in JAX: iterators of dictionaries of arrays (:mod:`clu` for those that peek), functions on arrays."""

from dali_lab.plugin.base_iterator import LastBatchPolicy
from dali_lab.plugin.jax import fn, integration
from dali_lab.plugin.jax.iterator import DALIGenericIterator, data_iterator

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator", "fn", "integration"]
