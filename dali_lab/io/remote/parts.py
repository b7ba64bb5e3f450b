"""Parts of files in stores, requested ahead of their use and many at once."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dali_lab.io.locations import canonical, is_remote
from dali_lab.io.remote import cache
from dali_lab.io.remote.requests import begin, small
from dali_lab.io.remote.store import Info, Kind, StoreError
from dali_lab.io.roots import limited, reach
from dali_lab.model.lifetime import after_fork, ended_at_exit
from dali_lab.model.waiting import wait_for

WHOLE = -1
"""Count of bytes of a part that is the whole file."""

_GAP = 128 << 10
"""Bytes between two parts that are read along rather than asked for apart."""
_LARGEST = 8 << 20
"""Bytes of a request for several parts."""
_MOST_AHEAD = 512
"""Parts that are requested ahead at most, and their bytes."""
_MOST_BYTES = 384 << 20
_FIRST_GUESS = 128 << 10
_TOGETHER = 32
"""Small objects that a thread requests together."""


class Part(NamedTuple):
    """A range of bytes of a file, by its number.

    Attributes
    ----------
    file
        Number of the file.
    start, size
        Where it begins, and its bytes; :data:`WHOLE` for all of the file.
    """

    file: int
    start: int = 0
    size: int = WHOLE


class _Request:
    """A request for a range of a file that several parts lie in; lighter than a future, as there is one a sample."""

    __slots__ = ("_pending", "begun", "count", "file", "result", "start")

    def __init__(self, file: int, start: int, count: int) -> None:
        self.file, self.start, self.count = file, start, count
        self.begun = False
        self.result: memoryview | BaseException | None = None
        self._pending = threading.Lock()
        self._pending.acquire()

    def finish(self, result: memoryview | BaseException) -> None:
        """End all waits for the result; the first one counts."""
        with _finishing:
            if self.result is not None:
                return
            self.result = result
        self._pending.release()

    def wait(self) -> memoryview | OSError:
        """The data, or the error of the file; other errors are raised."""
        wait_for(lambda seconds: self._pending.acquire(timeout=seconds))
        self._pending.release()
        result = self.result
        if isinstance(result, (memoryview, OSError)):
            return result
        assert result is not None
        raise result


_finishing = threading.Lock()


class FileParts:
    """Parts of files that are requested ahead, and taken once each.

    Several threads may use it.

    Parameters
    ----------
    names
        Paths and URLs of the files.
    known
        Sizes and versions of the files, where they are known; a file that has another version is an error then.
    """

    def __init__(self, names: Sequence[str], known: Sequence[Info] | None = None) -> None:
        self._names = names
        self._known = known
        self._lock = threading.Lock()
        self._ahead: dict[Part, deque[_Request]] = {}
        self._waiting = 0
        self._typical: float = _FIRST_GUESS
        self._closed = False
        self._under_way: set[_Request] = set()
        _open.add(self)

    @property
    def has_room(self) -> bool:
        """Whether more should be requested ahead."""
        waiting = self._waiting
        return waiting < _MOST_AHEAD and waiting * self._typical < _MOST_BYTES

    def request(self, parts: Iterable[Part], *, urgent: bool = False) -> None:
        """Begin to read parts; those of a file that lie near each other are read together."""
        wanted = [part for part in parts if part.size]
        if limited():
            wanted = [part for part in wanted if self._refused(part) is None]
        with self._lock:
            if self._closed:
                return
            self._waiting += len(wanted)
            begun = self._begun(wanted, urgent)
            for part, request in zip(wanted, begun, strict=True):
                self._ahead.setdefault(part, deque()).append(request)

    def _begun(self, parts: Sequence[Part], urgent: bool) -> list[_Request]:
        """The request of each part."""
        result: dict[int, _Request] = {}
        group: list[int] = []
        end = 0
        sent = []

        def send(file: int, start: int, count: int) -> _Request:
            sent.append(request := _Request(file, start, count))
            return request

        def finish() -> None:
            if group:
                first = parts[group[0]]
                request = send(first.file, first.start, end - first.start)
                result.update(dict.fromkeys(group, request))
                group.clear()

        for index in sorted(range(len(parts)), key=parts.__getitem__):
            part = parts[index]
            if part.size == WHOLE:
                result[index] = send(part.file, 0, WHOLE)
                continue
            if group:
                first = parts[group[0]]
                together = max(end, part.start + part.size) - first.start
                if part.file != first.file or part.start - end > _GAP or together > _LARGEST:
                    finish()
            end = max(end, part.start + part.size) if group else part.start + part.size
            group.append(index)
        finish()
        if sent:
            self._under_way.update(sent)
            begin(self._works(sent), urgent=urgent)
        return [result[index] for index in range(len(parts))]

    def _works(self, sent: Sequence[_Request]) -> list[Callable[[], None]]:
        """The work of threads: requests to stores in groups, all else one by one."""
        works: list[Callable[[], None]] = []
        together = []
        for request in sent:
            if not cache.limit() and is_remote(self._names[request.file]):
                together.append(request)
            else:
                works.append(functools.partial(self._fulfil, request))
        groups = (together[first : first + _TOGETHER] for first in range(0, len(together), _TOGETHER))
        return works + [functools.partial(self._fulfil_together, group) for group in groups]

    def _fulfil_together(self, group: Sequence[_Request]) -> None:
        """Read small objects and parts; each that takes more goes to a thread of its own."""
        wanted = [request for request in group if request.result is None and not self._closed]
        for request in wanted:
            request.begun = True
        left = set(group)
        with contextlib.suppress(Exception):  # it is found again, and explained, for each that is left
            for index, found in small([(self._names[each.file], each.start, each.count) for each in wanted]):
                request = wanted[index]
                left.discard(request)
                known = None if self._known is None else self._known[request.file]
                if found is None or known not in (None, found[1]):
                    begin([functools.partial(self._fulfil, request)], urgent=True)
                else:
                    request.finish(found[0])
                    self._under_way.discard(request)
        begin([functools.partial(self._fulfil, request) for request in left], urgent=True)

    def _fulfil(self, request: _Request) -> None:
        request.begun = True
        if request.result is None:
            try:
                request.finish(self._read(request))
            except BaseException as error:  # raised where it is waited for
                request.finish(error)
        self._under_way.discard(request)

    def _read(self, request: _Request) -> memoryview:
        if self._closed:
            raise _reader_closed()
        name, start, count = self._names[request.file], request.start, request.count
        known = None if self._known is None else self._known[request.file]
        if not is_remote(name):
            return _local(canonical(name), start, count)
        data, info = cache.fetch(name, start, count, known, lambda: self._closed)
        if known not in (None, info):
            raise StoreError(Kind.CHANGED, "it was replaced or changed after the reader had opened it")
        return data

    def take(self, parts: Sequence[Part]) -> list[memoryview | OSError]:
        """The bytes of parts, or the error of each; parts that were not requested are read now.

        A part that reaches beyond the end of its file is shorter.
        """
        refused = {part: error for part in parts if (error := self._refused(part))} if limited() else {}
        with self._lock:
            missing = []
            found: list[_Request | None] = []
            for part in parts:
                if part in refused or not part.size:
                    found.append(None)
                    continue
                queue = self._ahead.get(part)
                if queue:
                    found.append(queue.popleft())
                    self._waiting -= 1
                    if not queue:
                        del self._ahead[part]
                else:
                    missing.append(part)
                    found.append(None)
            begun = iter(self._begun(missing, True))
        results: list[memoryview | OSError] = []
        for part, request in zip(parts, found, strict=True):
            if part in refused or not part.size:
                results.append(refused.get(part, memoryview(b"")))
                continue
            request = request or next(begun)
            data = request.wait()
            if isinstance(data, OSError):
                results.append(data)
                continue
            if part.size != WHOLE:
                offset = part.start - request.start
                data = data[offset : offset + part.size]
            self._typical += 0.02 * (data.nbytes - self._typical)
            results.append(data)
        return results

    def _refused(self, part: Part) -> OSError | None:
        """The error of a file that may not be read here, asked for on the thread of the reader."""
        try:
            reach(self._names[part.file])
        except OSError as error:
            return error
        return None

    def forget(self) -> None:
        """Drop what was requested ahead."""
        with self._lock:
            for queue in self._ahead.values():
                for request in queue:
                    if not request.begun:
                        request.finish(_reader_closed())
            self._ahead.clear()
            self._waiting = 0

    def close(self) -> None:
        """Drop what was requested ahead, let no request be repeated, and end every wait for one."""
        self._closed = True
        self.forget()
        for request in list(self._under_way):
            request.finish(_reader_closed())


def _reader_closed() -> StoreError:
    return StoreError(Kind.WRONG, "the reader was closed")


_open = ended_at_exit(FileParts.close)  # the process waits for the threads of pipelines, which may wait for a request


@after_fork
def _after_fork() -> None:
    """Locks that other threads held at that moment stay locked in the new process."""
    global _finishing
    _finishing = threading.Lock()


def _local(name: str, start: int, count: int) -> memoryview:
    """A part of a file of the file system, which may stand beside remote ones in a list."""
    with open(name, "rb") as file:
        file.seek(start)
        return memoryview(file.read() if count == WHOLE else file.read(count))
