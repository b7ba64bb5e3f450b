"""Pipelines in JAX: iterators of arrays, and functions on arrays as operators."""
