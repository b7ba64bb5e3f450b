"""Kernels of the user as operators: CUDA C++ or functions over CuPy arrays, registered under a name.

>>> from dali_lab.plugin import cuda
>>> cuda.register("invert", source='''
... __device__ void invert(const Sample& sample, i64 i) { sample.out[i] = 255 - sample.in0[i]; }
... ''')
>>> inverted = fn.experimental.cuda_kernel(images, kernel="invert", device="gpu")

A graph file holds the name alone, so that opening one runs nothing.
"""

from dali_lab.kernels.cuda.user import UserFunction, UserSource, register, registered

__all__ = ["UserFunction", "UserSource", "register", "registered"]
