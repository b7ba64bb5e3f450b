"""Encoded pictures, sounds and arrays: bytes, and why some cannot be decoded."""

from __future__ import annotations

from typing import Any

#: Encoded bytes: ``bytes``, ``bytearray``, ``memoryview`` or a ``uint8`` array.
Buffer = Any

IMAGE_SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".jp2", ".j2k", ".pnm", ".ppm", ".pgm", ".pbm", ".gif")
)
"""File extensions of pictures."""


class CodecError(ValueError):
    """Bytes that cannot be decoded; the message is a plain reason, such as ``truncated JPEG``."""
