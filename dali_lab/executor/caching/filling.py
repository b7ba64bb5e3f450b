"""Fills a cache in the time that a run can spare: a share of it, what the cache has saved, and idle processors."""

from __future__ import annotations

import enum
import functools
import math
import threading
import time
from collections import deque
from collections.abc import Callable

from dali_lab.model.system import idle_seconds

SHARE = 0.05
"""The part of the CPU time of a run without a cache that filling little by little may take in addition."""
_MOST_IDLE = 0.5
"""Seconds of idle processors that can be spent later: a long pause is not to slow down what comes after it."""
_ASKED = 0.1
"""Least seconds between two looks at how idle the processors are."""
_AT_ONCE = 48
"""Samples that are kept before it is known what that costs."""
_RECENT = 32
"""Chunks whose cost is remembered; that in the middle counts, as single ones load kernels or are interrupted."""
_FIRST = 8
"""Of fewer chunks the least cost counts: most of them may have loaded kernels."""
_COMPARED = 16
"""Of so many chunks in the row that were kept, one is computed as without a cache, to measure that again."""
_TRIED_AGAIN = 64
"""Chunks after which one is kept although that did not seem to pay: what was measured first may have been disturbed.
Each later time comes after twice as many."""
_FEW = 8
"""A cache that holds less than one of so many samples is not looked into for each chunk."""


class Way(enum.Enum):
    """Way to compute a chunk: as without a cache, from the cache as far as possible, or so that all of it is kept."""

    PLAIN = enum.auto()
    FOUND = enum.auto()
    KEPT = enum.auto()


class RecentCost:
    """CPU seconds for a sample, by the recent chunks."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque(maxlen=_RECENT)

    def note(self, samples: int, seconds: float) -> None:
        """Record that so many samples took so many seconds."""
        self._recent.append((seconds / samples, samples))

    @property
    def known(self) -> bool:
        return bool(self._recent)

    @property
    def chunks(self) -> int:
        """How many chunks these are."""
        return len(self._recent)

    @property
    def largest(self) -> int:
        """Samples of the largest of these chunks."""
        return max((samples for _, samples in self._recent), default=0)

    @property
    def seconds(self) -> float:
        """Cost of the sample in the middle, or the least of the first chunks; 0 where nothing is known.

        Chunks of less than half the samples of the largest do not count: each chunk costs something by itself.
        """
        largest = self.largest
        alike = sorted(each for each in self._recent if 2 * each[1] >= largest)
        if len(alike) < _FIRST:
            return alike[0][0] if alike else 0.0
        left = sum(samples for _, samples in alike) / 2
        for seconds, samples in alike:
            left -= samples
            if left <= 0:
                return seconds
        return 0.0


class IdleTime:
    """CPU time that a run leaves unused: its threads wait for work, and processors of the machine are idle.

    Parameters
    ----------
    waited
        Seconds that the threads have waited for work so far, all together.
    """

    def __init__(self, waited: Callable[[], float]) -> None:
        self._waited = waited
        self._lock = threading.Lock()
        self._asked = -math.inf
        self._before = waited(), idle_seconds()

    def seconds(self) -> float:
        """CPU seconds since they were last asked for; 0 where that is only a moment ago."""
        now = time.perf_counter()
        with self._lock:
            if now - self._asked < _ASKED:
                return 0.0
            self._asked = now
            before, self._before = self._before, (self._waited(), idle_seconds())
            return max(0.0, min(self._before[0] - before[0], self._before[1] - before[1]))


class Filling:
    """Decides how each chunk is computed, by what the ways were measured to cost.

    Filling takes a part of the time of a run without a cache (:data:`SHARE`), all that the cache has saved so far, and
    the time in which threads wait and processors are idle. Where keeping a sample saves less than it costs in the
    epochs that are left, nothing is kept any more.

    Parameters
    ----------
    epochs
        How many epochs the run has; `None` for many.
    samples
        Tells how many samples an epoch has; 0 where it is not known.
    """

    def __init__(self, epochs: int | None = None, samples: Callable[[], int] = lambda: 0) -> None:
        self._epochs, self._count = epochs, samples
        self._lock = threading.Lock()
        self._plain, self._kept, self._rest, self._found = RecentCost(), RecentCost(), RecentCost(), RecentCost()
        self._looking = RecentCost()
        self._writing = 0.0
        self._begun = self._seen = self._in_a_row = self._not_paying = 0
        self._try_at = _TRIED_AGAIN
        self._credit = self._idle = 0.0
        self.at_once = False

    @functools.cached_property
    def _samples(self) -> int:
        return self._count()

    def leaves_alone(self, samples: int, held: int) -> bool:
        """Whether a chunk is not even looked for, as the cache holds few samples and filling has used its time."""
        with self._lock:
            spent = self._credit < 0 and self._idle < samples * self._price
            alone = spent and held * _FEW < self._samples and self._plain.known
            if alone:
                self._seen += samples
                self._credit += SHARE * samples * self._plain.seconds
            return alone

    def choose(self, samples: int, found: int, open_for_more: bool, looking: float) -> Way:
        """The way of a chunk of which the cache has `found` samples.

        Parameters
        ----------
        open_for_more
            Whether the cache takes others.
        looking
            CPU time of looking for the chunk.
        """
        with self._lock:
            self._seen += samples
            self._looking.note(samples, looking)
            missing = samples - found
            if not missing:
                if self._plain.known and self._found.known:
                    self._credit += samples * (self._plain.seconds - self._found.seconds)
                return Way.FOUND
            if not open_for_more or self._epochs_left() <= 0:
                return self._cheaper(samples, found)
            if not self._pays():
                self._not_paying += 1
                if self._not_paying < self._try_at:
                    return self._cheaper(samples, found)
                self._try_at *= 2
                return Way.KEPT
            larger = self._kept.known and missing >= 2 * self._kept.largest
            if self.at_once or self._begun < _AT_ONCE or larger:
                self._begun += missing
                return Way.KEPT
            few = self._plain.chunks < min(self._kept.chunks, _FIRST)  # the least of more chunks is less
            known = self._plain.known and self._kept.known
            if few or not known or self._in_a_row >= _COMPARED:
                self._in_a_row = 0
                return Way.PLAIN
            looked = self._looking.seconds
            self._credit += samples * (SHARE * self._plain.seconds - looked)
            more = self._cost(found, missing) + missing * self._writing - samples * (self._plain.seconds + looked)
            if more > self._idle and more - self._idle + self._begun * self._price > self._credit:
                self._in_a_row = 0
                return self._cheaper(samples, found)
            unused = min(self._idle, max(0.0, more))
            self._idle -= unused
            self._credit -= more - unused
            self._in_a_row += 1
            return Way.KEPT

    @property
    def _price(self) -> float:
        """Seconds that keeping a sample takes in addition."""
        return self._made + self._writing - self._plain.seconds

    @property
    def _made(self) -> float:
        """Seconds of computing a sample that is kept: no less than without a cache, whatever single chunks took."""
        return max(self._kept.seconds, self._plain.seconds)

    @property
    def _saved(self) -> float:
        """Seconds that a kept sample saves in an epoch."""
        return self._plain.seconds - self._later.seconds

    @property
    def _later(self) -> RecentCost:
        """The cost of a sample that was kept; that of the steps behind the cache as long as none was found."""
        return self._found if self._found.known else self._rest

    def _cheaper(self, samples: int, found: int) -> Way:
        """The cheaper of the ways that keep nothing."""
        return Way.FOUND if found and self._cost(found, samples - found) < samples * self._plain.seconds else Way.PLAIN

    def _cost(self, found: int, missing: int) -> float:
        return found * self._later.seconds + missing * self._made

    def _pays(self) -> bool:
        """Whether a sample that is kept now saves more in the epochs left than keeping it costs."""
        if not (self._plain.known and self._kept.known):
            return True
        return self._saved > 0 and self._epochs_left() * self._saved > self._price

    def _epochs_left(self) -> float:
        """Epochs behind this one."""
        if self._epochs is None:
            return float("inf")
        return self._epochs - 1 - (self._seen // self._samples if self._samples else 0)

    # -- what is left, and what chunks cost -------------------------------------------------------------------------

    def left(self, seconds: float) -> None:
        """Note CPU time that the run has left unused."""
        with self._lock:
            self._idle = min(_MOST_IDLE, self._idle + seconds)

    def computed(self, samples: int, seconds: float) -> None:
        """Note a chunk that was computed as without a cache."""
        with self._lock:
            self._plain.note(samples, seconds)

    def kept(self, samples: int, seconds: float, rest: float | None, writing: float) -> None:
        """Note a chunk all of which was kept: its cost, that of what is not kept, and seconds of writing a sample.

        The second is `None` where both come out of one step.
        """
        with self._lock:
            self._kept.note(samples, seconds)
            if rest is not None:
                self._rest.note(samples, rest)
            self._writing = writing

    def found(self, samples: int, seconds: float) -> None:
        """Note a chunk all of which was there."""
        with self._lock:
            self._found.note(samples, seconds)
