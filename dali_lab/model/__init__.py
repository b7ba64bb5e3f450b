"""Samples in memory: dtypes, the batch that kernels see, the tensor lists that people see, and errors."""
