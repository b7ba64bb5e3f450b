"""Headers of encoded pictures: size, channels, orientation.

:func:`peek` reads one header, with a module for each format; :func:`read_headers` reads those of a chunk as a table.
"""

from dali_lab.codecs.headers.chunk import Headers, displayed, peek_sound, read_headers
from dali_lab.codecs.headers.info import ImageInfo
from dali_lab.codecs.headers.peeking import peek, peek_shapes, title

__all__ = ["Headers", "ImageInfo", "displayed", "peek", "peek_shapes", "peek_sound", "read_headers", "title"]
