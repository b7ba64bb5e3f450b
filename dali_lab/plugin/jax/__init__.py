"""Pipelines in JAX: iterators of dictionaries of arrays (:mod:`clu` for those that peek), functions on arrays."""

from dali_lab.model.extras import importing

with importing("jax", "jax"):
    from dali_lab.interop.iteration import LastBatchPolicy
    from dali_lab.interop.jax import integration
    from dali_lab.interop.jax.iterator import DALIGenericIterator, data_iterator
    from dali_lab.plugin.jax import fn

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator", "fn", "integration"]
