"""Headers of encoded pictures: size, channels, orientation, and all that decides how they are decoded.

:class:`Header` is the one description: :func:`peek` reads that of one picture, with a module for each format, and
:func:`read_headers` those of a chunk as a table.
"""

from dali_lab.codecs.headers.peeking import peek
from dali_lab.codecs.headers.table import Headers, read_headers
from dali_lab.kernels.cpu.header_table import Header

__all__ = ["Header", "Headers", "peek", "read_headers"]
