"""Readers of files that hold an array: NumPy and FITS."""
