"""Whole small objects of S3 and of web servers, without the costs of a client library."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from socket import socket
from threading import Semaphore
from urllib.parse import quote
from urllib.request import getproxies

from dali_lab.io.remote.connections import Connections, Request
from dali_lab.io.remote.store import Info

Found = tuple[memoryview, Info] | None
"""An object and what it is; `None` where a library is to be asked for it."""

_NAME = "[A-Za-z0-9_=-][A-Za-z0-9_.=-]*"
_PLAIN = re.compile(f"(?:{_NAME}/)*{_NAME}")
"""Keys that every library writes into an address in the same way."""

_NEW = 8
"""Connections that are opened for a group of objects."""

_FAILURES = 8
_PAUSE = 60.0
"""After so many failures in a row, or one to connect, the library is asked at once for so many seconds."""


class SmallObjects:
    """Reads whole objects where that goes without trouble; the caller asks a library for all others.

    Parameters
    ----------
    address
        The server.
    folder
        Path of the bucket there, from slash to slash.
    headers
        Lines that sign the request for a quoted path, each with its end.
    timeout
        Seconds that one request may take.
    most
        Bytes of the largest object that is read.
    """

    def __init__(self, address: str, folder: str, headers: Callable[[str], str], timeout: float, most: int) -> None:
        self._connections = Connections(address, timeout, most)
        self._folder, self._headers = folder, headers
        self._failures = 0
        # The library knows proxies.
        self._paused = float("inf") if getproxies() or not hasattr(select, "poll") else 0.0

    def read(self, keys: Sequence[str], slots: Semaphore) -> Iterator[tuple[int, Found]]:
        """Objects and what they are, each with the index of its key, as they come; `None` where to ask the library.

        All are requested before an answer is waited for, which spares turns of threads.

        Parameters
        ----------
        slots
            One is held for each request.
        """
        taken = [index for index, key in enumerate(keys) if self._takes(key)]
        kept = {index: found for index in taken if (found := self._connections.kept()) is not None}
        # Opening one takes several turns to the server and back: the library, which opens many at once, takes the rest.
        new = [index for index in taken if index not in kept][:_NEW]
        yield from ((index, None) for index in range(len(keys)) if index not in kept and index not in new)
        if not kept and not new:
            return
        under_way: dict[int, tuple[int, Request]] = {}
        poll = select.poll()
        try:
            for index in (*kept, *new):
                while not slots.acquire(blocking=not under_way):
                    yield from self._next(under_way, poll, slots)
                request = self._sent(keys[index], kept.get(index))
                if request is None:
                    slots.release()
                    yield index, None
                else:
                    under_way[request[0].fileno()] = index, request
                    poll.register(request[0], select.POLLIN)
            while under_way:
                yield from self._next(under_way, poll, slots)
        finally:
            for _, (connection, _) in under_way.values():
                connection.close()
                slots.release()

    def _takes(self, key: str) -> bool:
        return _PLAIN.fullmatch(key) is not None and time.monotonic() >= self._paused

    def _sent(self, key: str, connection: socket | None) -> Request | None:
        target = quote(self._folder + key)
        try:
            headers = self._headers(target)
        except Exception:  # the library asks for the credentials, too, and its error is explained
            return None
        if connection is None:
            if time.monotonic() < self._paused:
                return None
            try:
                connection = self._connections.connect()
            except (OSError, ValueError):
                self._paused = time.monotonic() + _PAUSE
                return None
        return self._connections.send(connection, target, headers)

    def _next(
        self, under_way: dict[int, tuple[int, Request]], poll: select.poll, slots: Semaphore
    ) -> Iterator[tuple[int, Found]]:
        """The requests that can be finished; waits for one."""
        first = next(iter(under_way.values()))[1][1]
        ready = [place for place, _ in poll.poll(1000 * max(0.0, first - time.monotonic()))]
        for place in ready or [place for place, (_, (_, deadline)) in under_way.items() if deadline <= first]:
            index, request = under_way.pop(place)
            poll.unregister(place)
            found = self._finished(request, bool(ready))
            slots.release()
            yield index, found

    def _finished(self, request: Request, answers: bool) -> Found:
        """The object; nothing where the server does not answer in time."""
        answer = None
        if answers:
            answer = self._connections.finish(request)
        else:
            request[0].close()
        if answer is not None:
            self._failures = 0
            return answer.data, Info(answer.data.nbytes, answer.tag)
        self._failures += 1
        if self._failures >= _FAILURES:
            self._paused = time.monotonic() + _PAUSE
        return None
