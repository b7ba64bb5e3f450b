"""Requests to stores: the store of a URL, attempts with growing waits between them, and threads for many at once."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from typing import TypeVar

from dali_lab.io.locations import bucket_and_key, canonical, credentials_in
from dali_lab.io.remote.store import Info, Kind, Store, StoreError
from dali_lab.model.errors import DaliLabError
from dali_lab.model.extras import require
from dali_lab.model.lifetime import after_fork
from dali_lab.model.waiting import wait_for

T = TypeVar("T")

_FIRST_WAIT = 0.1
_LONGEST_WAIT = 8.0


def attempts() -> int:
    """Attempts for each request: ``DALI_LAB_REMOTE_ATTEMPTS``, by default 6."""
    return max(1, _number("DALI_LAB_REMOTE_ATTEMPTS", 6))


def timeout() -> float:
    """Seconds that one attempt may take: ``DALI_LAB_REMOTE_TIMEOUT``, by default 60."""
    return max(1, _number("DALI_LAB_REMOTE_TIMEOUT", 60))


def most_requests() -> int:
    """Requests that run at once in a process: ``DALI_LAB_REMOTE_REQUESTS``, by default 96."""
    return max(1, _number("DALI_LAB_REMOTE_REQUESTS", 96))


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        raise StoreError(Kind.WRONG, f"the environment variable {name} must be a whole number") from None


_BUCKETS = frozenset(("s3", "gs", "az"))
"""Schemes whose URLs are a bucket and a key as they stand: most requests look no further than for the bucket."""

_stores: dict[tuple[int, str], Store] = {}
_opening = threading.Lock()


@after_fork
def _after_fork() -> None:
    """A lock that another thread held at that moment stays locked in the new process."""
    global _opening
    _opening = threading.Lock()


def store_of(url: str) -> tuple[Store, str]:
    """The store of a URL, and the object's key in it.

    Raises
    ------
    StoreError
        If a package is missing, or the URL has credentials in it.
    """
    scheme, _, rest = url.partition("://")
    if scheme in _BUCKETS and "?" not in rest:
        bucket, _, key = rest.partition("/")
        known = _stores.get((os.getpid(), f"{scheme}://{bucket}"))
        if known is not None:
            return known, key
    url = canonical(url)
    scheme, bucket, key = bucket_and_key(url)
    if "?" in url and scheme in ("http", "https"):
        # The query belongs to the address there, as in URLs that are signed for a time.
        return _any(url), url
    said = credentials_in(url)
    if said:
        raise StoreError(
            Kind.WRONG,
            f"the URL has {said}; keep credentials where the tools of the store look for them"
            " (docs/how-to/object-stores.md)",
        )
    from dali_lab.io.remote.object_store import SCHEMES, ObjectStore

    if scheme not in SCHEMES or (scheme in ("abfs", "abfss") and "@" not in bucket and "?" in url):
        return _any(url), url
    if not bucket:
        raise StoreError(Kind.WRONG, f"'{url}' names no bucket or server")
    _need("obstore")
    place = os.getpid(), f"{scheme}://{bucket}"
    with _opening:
        found = _stores.get(place)
        if found is None:
            if scheme in ("s3", "s3a"):
                _need("boto3")
            try:
                found = _stores[place] = ObjectStore(scheme, bucket, timeout())
            except StoreError:
                raise
            except Exception as error:
                raise StoreError(Kind.WRONG, f"cannot use {scheme}://{bucket}: {error}") from None
    return found, key


def _any(url: str) -> Store:
    from dali_lab.io.remote.any_store import AnyStore

    _need("fsspec")
    scheme, _, rest = url.partition("://")
    # The place of an object store is another one, also for the same server.
    place = os.getpid(), f"any {scheme}://{rest.partition('/')[0]}" if "::" not in scheme else url
    with _opening:
        if place not in _stores:
            _stores[place] = AnyStore(url)
        return _stores[place]


def _need(package: str) -> None:
    try:
        require("remote", (package,), "a remote file")
    except DaliLabError as error:
        raise StoreError(Kind.WRONG, error.message) from None


def small(wanted: Sequence[tuple[str, int, int]]) -> Iterator[tuple[int, tuple[memoryview, Info] | None]]:
    """Small objects and parts, requested together, and what the objects are, each with its index, as they come.

    `None` stands for one that takes a request of its own.

    Parameters
    ----------
    wanted
        URL, start and count of each, as of :meth:`Store.get`.
    """
    first = 0
    located = ((*store_of(url), start, count) for url, start, count in wanted)
    for store, group in itertools.groupby(located, operator.itemgetter(0)):
        ranges = [(key, start, count) for _, key, start, count in group]
        for index, found in store.small(ranges, _process().slots):
            yield first + index, found
        first += len(ranges)


def tried(url: str, work: Callable[[Store, str], T], stopped: Callable[[], bool] = bool) -> T:
    """The result of a request, which is repeated while its error may pass.

    The wait before the next attempt doubles each time, and is cut by chance, so that many that failed together do not
    come back together. Credentials that have expired are fetched anew once.

    Parameters
    ----------
    work
        Called as ``work(store, key)``.
    stopped
        Whether nobody waits for the result any more.

    Raises
    ------
    StoreError
        The last error; it says how often it was tried.
    """
    if threading.current_thread() is threading.main_thread():
        # A library that waits in its own code does not notice Ctrl-C; waiting for another thread does.
        future = submit(functools.partial(_tried, url, work, stopped))
        wait_for(lambda seconds: wait([future], seconds).done)
        return future.result()
    return _tried(url, work, stopped)


def _tried(url: str, work: Callable[[Store, str], T], stopped: Callable[[], bool]) -> T:
    store, key = store_of(url)
    slots = _process().slots
    renewed = False
    attempt = 1
    while True:
        try:
            with slots:
                return work(store, key)
        except StoreError as error:
            if error.kind is Kind.EXPIRED and not renewed:
                renewed = True
                store.renew()
                continue
            if error.kind is not Kind.PASSING or stopped():
                raise
            if attempt >= (count := attempts()):
                reason = f"{error.strerror} (tried {count} times)" if count > 1 else str(error.strerror)
                raise StoreError(Kind.PASSING, reason) from None
            wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1)) * random.uniform(0.5, 1)
            time.sleep(wait)
            attempt += 1


class _Threads:
    """Threads for requests; what is waited for goes before what is read ahead.

    Attributes
    ----------
    slots
        One is held for each request that is under way.
    """

    def __init__(self) -> None:
        self.slots = threading.Semaphore(most_requests())
        self._work: deque[Callable[[], object]] = deque()
        self._arrived = threading.Condition()
        self._count = self._idle = 0
        self._most = most_requests()

    def begin(self, works: Sequence[Callable[[], object]], urgent: bool) -> None:
        with self._arrived:
            if urgent:
                self._work.extendleft(reversed(works))
            else:
                self._work.extend(works)
            for _ in range(min(len(self._work) - self._idle, self._most - self._count)):
                self._count += 1
                threading.Thread(target=self._run, name="dali-lab-request", daemon=True).start()
            self._arrived.notify(len(works))

    def _run(self) -> None:
        while True:
            with self._arrived:
                self._idle += 1
                while not self._work:
                    self._arrived.wait()
                self._idle -= 1
                work = self._work.popleft()
            work()
            del work


_threads: tuple[int, _Threads] | None = None


def _process() -> _Threads:
    """The threads of this process."""
    global _threads
    found = _threads
    if found is None or found[0] != os.getpid():
        with _opening:
            if _threads is None or _threads[0] != os.getpid():
                _threads = os.getpid(), _Threads()
            found = _threads
    return found[1]


def begin(works: Sequence[Callable[[], object]], *, urgent: bool) -> None:
    """Run requests, which raise nothing, on the process's threads for them; urgent ones go before the others."""
    _process().begin(works, urgent)


def submit(work: Callable[[], T]) -> Future[T]:
    """Run an urgent request on one of the process's threads for them."""
    future: Future[T] = Future()
    begin([functools.partial(_fulfil, future, work)], urgent=True)
    return future


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    with contextlib.suppress(InvalidStateError):  # somebody gave up waiting
        try:
            future.set_result(work())
        except InvalidStateError:
            raise
        except BaseException as error:
            future.set_exception(error)
