"""Cost and gain of a cache of the work that never changes."""

from __future__ import annotations

from typing import Literal

from dali_lab.studio.protocol.values import SessionError, Wire


class CacheRequest(Wire):
    """Run some batches without a cache and with one in memory; only one such run goes on at a time."""

    run: int


class CacheDone(Wire):
    """A measurement has ended: samples a second without and with the cache, bytes of a sample, samples of an epoch."""

    run: int
    status: Literal["done", "cancelled", "failed"]
    rate: float = 0.0
    cached_rate: float = 0.0
    bytes: float = 0.0
    samples: int = 0
    error: SessionError | None = None
