"""Recorded calls that are kept for the next ones like them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

Made = TypeVar("Made")
MOST_KEPT = 256
_kept: OrderedDict[Hashable, object] = OrderedDict()
_lock = threading.Lock()


def find(key: Hashable, kind: type[Made]) -> Made | None:
    """The call of this kind that is kept under a key."""
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
    return found if isinstance(found, kind) else None


def keep(key: Hashable, made: object) -> None:
    """Keep a call for the next one like it."""
    with _lock:
        _kept[key] = made
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def clear() -> None:
    """Forget all calls."""
    with _lock:
        _kept.clear()
