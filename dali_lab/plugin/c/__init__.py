"""C functions of the user as operators, compiled into a shared library and registered under a name.

>>> from dali_lab.plugin import c
>>> c.register("invert", "./libinvert.so")
>>> inverted = fn.experimental.c_function(images, function="invert")

A graph file holds the name alone, so that opening one runs nothing. ``docs/how-to/c-functions.md`` tells more.
"""

from dali_lab.kernels.c_functions import register

__all__ = ["register"]
