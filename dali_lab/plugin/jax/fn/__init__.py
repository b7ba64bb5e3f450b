"""Functions on JAX arrays, as operators."""

from dali_lab.interop.jax.functions import jax_function

__all__ = ["jax_function"]
