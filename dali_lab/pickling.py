"""Functions for worker processes that start afresh, under NVIDIA DALI's module name."""

from dali_lab.executor.sources.pickling import dumps, loads, pickle_by_value

__all__ = ["pickle_by_value"]


class _DaliPickle:
    """The pickler under the name that programs find it by in NVIDIA DALI, to build their own on it."""

    dumps = staticmethod(dumps)
    loads = staticmethod(loads)
