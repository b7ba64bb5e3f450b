"""Batches in other frameworks: PyTorch, JAX, Numba, and the proxy for worker processes."""
