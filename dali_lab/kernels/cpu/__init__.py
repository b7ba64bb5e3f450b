"""CPU kernels: Numba functions over tables of samples, called once a chunk and without the GIL."""

# The first import of Numba must find the folder for compiled kernels chosen, whichever kernel is the first.
import dali_lab.kernels.cpu.memory  # noqa: F401
