"""CUDA kernels: C++ files, each beside the Python functions that launch them over a table of samples.

A module here has the functions of the module of the same name in :mod:`dali_lab.kernels.cpu`, with the same
arguments after a :class:`~dali_lab.device.Launcher`. So an operator's `run` is one text for both devices.
"""
