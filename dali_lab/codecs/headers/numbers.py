"""Unsigned numbers of two and four bytes, in either order."""

from __future__ import annotations

from typing import Any


def be16(view: Any, at: int) -> int:
    """Two bytes, the more significant first."""
    return (view[at] << 8) | view[at + 1]  # type: ignore[no-any-return]


def be32(view: Any, at: int) -> int:
    """Four bytes, the most significant first."""
    return (view[at] << 24) | (view[at + 1] << 16) | (view[at + 2] << 8) | view[at + 3]  # type: ignore[no-any-return]


def le16(view: Any, at: int) -> int:
    """Two bytes, the less significant first."""
    return view[at] | (view[at + 1] << 8)  # type: ignore[no-any-return]


def le32(view: Any, at: int) -> int:
    """Four bytes, the least significant first."""
    return view[at] | (view[at + 1] << 8) | (view[at + 2] << 16) | (view[at + 3] << 24)  # type: ignore[no-any-return]
