"""Devices beside the CPU: memory, streams, events and launches behind one small interface.

:mod:`~dali_lab.device.cuda` talks to a GPU through CuPy, :mod:`~dali_lab.device.emulated` runs the same work on the
CPU, as late as it may, and finds what would be a race on a GPU. :mod:`~dali_lab.device.launcher` puts work together.
"""
