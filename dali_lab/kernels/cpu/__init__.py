"""CPU kernels: Numba functions over tables of samples, called once a chunk and without the GIL."""
