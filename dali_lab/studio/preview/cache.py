"""A least-recently-used cache with a limit in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by key; safe to use from several threads.

    Parameters
    ----------
    limit
        Bytes to keep at most. A single value that is larger is not kept.
    most
        Values to keep at most of those that were put for the same `place`.
    """

    def __init__(self, limit: int, most: int = 1 << 30) -> None:
        self.limit = limit
        self.most = most
        self.used = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[V, int, Hashable]] = OrderedDict()
        self._places: dict[Hashable, OrderedDict[Hashable, None]] = {}

    def get(self, key: Hashable) -> V | None:
        """The value, which counts as used now, or `None`."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            self._places[entry[2]].move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: V, size: int, place: Hashable = None) -> None:
        """Keep `value`, which takes `size` bytes, in place of an older one."""
        with self._lock:
            self._drop(key)
            if size > self.limit:
                return
            self._entries[key] = (value, size, place)
            self.used += size
            same = self._places.setdefault(place, OrderedDict())
            same[key] = None
            if len(same) > self.most:
                self._drop(next(iter(same)))
            while self.used > self.limit:
                self._drop(next(iter(self._entries)))

    def discard(self, wanted: Callable[[Hashable, V], bool]) -> None:
        """Forget all entries for which `wanted` says so."""
        with self._lock:
            for key in [key for key, (value, *_) in self._entries.items() if wanted(key, value)]:
                self._drop(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._places.clear()
            self.used = 0

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            _, size, place = entry
            self.used -= size
            same = self._places[place]
            del same[key]
            if not same:
                del self._places[place]
