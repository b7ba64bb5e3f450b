"""Functions for worker processes that start afresh, under NVIDIA DALI's module name."""

from dali_lab.executor.sources.pickling import pickle_by_value

__all__ = ["pickle_by_value"]
