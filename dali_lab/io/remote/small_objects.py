"""Small objects of S3 and of web servers, and parts, by libcurl, which takes half of obstore's processor time for them.

Objects of 52 KiB from a server that answers after 20 ms, in turn on a busy machine: 74 to 80 µs of a core for each with
its signature, where obstore takes 133 to 152 and urllib3 375 to 405. A whole object is asked for as a range, too, as
only answers to ranges tell whether they are whole. Only the usual answer is taken: status 206 with exactly the range
asked for, the length of the content and a tag. obstore, which knows redirects and errors, reads everything else.
"""

from __future__ import annotations

import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Semaphore
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import getproxies

from dali_lab.io.remote.store import Info, is_page
from dali_lab.model.extras import installed

Found = tuple[memoryview, Info] | None
"""Content and what the object is; `None` where obstore is to be asked for it."""

_NAME = "[A-Za-z0-9_=-][A-Za-z0-9_.=-]*"
_PLAIN = re.compile(f"(?:{_NAME}/)*{_NAME}")
"""Keys that every library writes into an address in the same way."""

_TAG = re.compile(rb'(?im)^etag: *((?:W/)?"[\x21\x23-\x7e]*") *\r$')
_RANGE = re.compile(rb"(?im)^content-range: *([^\r\n]*)")
_ENCODED = re.compile(rb"(?im)^content-encoding:")

_FAILURES = 8
_PAUSE = 60.0
"""After so many failures in a row, obstore is asked at once for so many seconds."""

_TURN = 0.001
"""Seconds in which answers gather before they are read: each turn of libcurl looks at all requests."""
_BUFFER = 256 << 10
"""Bytes that libcurl reads at once; by default 16 KiB."""


class Signing(NamedTuple):
    """What requests to S3 are signed with.

    Attributes
    ----------
    region
        That of the bucket.
    credentials
        Gives key, secret and token, the last of which may be empty; called for each request.
    """

    region: str
    credentials: Callable[[], tuple[str, str, str]]


class _Transfer(NamedTuple):
    """A request that is under way: place in the group, range, lines of the answer's head, pieces of its content."""

    place: int
    start: int
    size: int
    head: list[bytes]
    content: list[bytes]


class SmallObjects:
    """Reads whole objects where that goes without trouble; the caller asks obstore for all others.

    Parameters
    ----------
    address
        The server.
    folder
        Path of the bucket there, from slash to slash.
    signing
        `None` where requests are not signed.
    timeout
        Seconds that one request may take.
    most
        Bytes of the largest object that is read.
    """

    def __init__(self, address: str, folder: str, signing: Signing | None, timeout: float, most: int) -> None:
        self._place, self._signing, self._timeout, self._most = address + folder, signing, timeout, most
        self._idle: deque[tuple[Any, list[Any]]] = deque()
        """Connections, each group used by one thread at a time, with requests that can be used again."""
        self._failures = 0
        # obstore has its own rules for proxies.
        self._paused = float("inf") if getproxies() or not installed("pycurl") else 0.0

    def read(self, wanted: Sequence[tuple[str, int, int]], slots: Semaphore) -> Iterator[tuple[int, Found]]:
        """Objects or parts and what they are, each with its index, as they come; `None` where to ask obstore.

        All are requested before an answer is waited for, which spares turns of threads.

        Parameters
        ----------
        wanted
            Key, start and count of each, as of :meth:`Store.get`.
        slots
            One is held for each request.
        """
        taken = [
            index for index, (key, _, count) in enumerate(wanted) if count and count <= self._most and self._takes(key)
        ]
        yield from ((index, None) for index in range(len(wanted)) if index not in taken)
        if not taken:
            return
        import pycurl

        try:
            multi, spare = self._idle.pop()
        except IndexError:
            multi, spare = pycurl.CurlMulti(), []
        under_way: dict[Any, _Transfer] = {}
        try:
            for index in taken:
                while not slots.acquire(blocking=not under_way):
                    yield from self._next(multi, spare, under_way, slots)
                request = spare.pop() if spare else self._request()
                try:
                    under_way[request] = self._begun(request, index, *wanted[index])
                    multi.add_handle(request)
                except Exception:  # obstore asks for the credentials, too, and its error is explained
                    under_way.pop(request, None)
                    slots.release()
                    yield index, None
            while under_way:
                yield from self._next(multi, spare, under_way, slots)
        finally:
            for request in under_way:
                multi.remove_handle(request)
                slots.release()
            self._idle.append((multi, spare))

    def _takes(self, key: str) -> bool:
        return _PLAIN.fullmatch(key) is not None and time.monotonic() >= self._paused

    def _request(self) -> Any:
        """A request with the settings that all have in common."""
        import pycurl

        made = pycurl.Curl()
        trusted = ssl.get_default_verify_paths()
        for name, value in {
            "BUFFERSIZE": _BUFFER,
            "CAINFO": trusted.cafile,
            "CAPATH": trusted.capath,
            "CONNECTTIMEOUT_MS": int(1000 * min(10.0, self._timeout)),
            "HTTP_VERSION": pycurl.CURL_HTTP_VERSION_1_1,
            "MAXFILESIZE_LARGE": self._most,
            "NOSIGNAL": 1,
            "TIMEOUT_MS": int(1000 * self._timeout),
            "USERAGENT": "dali-lab",
        }.items():
            if value is not None:
                made.setopt(getattr(pycurl, name), value)
        return made

    def _begun(self, request: Any, index: int, key: str, start: int, count: int) -> _Transfer:
        import pycurl

        made = _Transfer(index, start, count, [], [])
        request.setopt(pycurl.URL, self._place + quote(key))
        request.setopt(pycurl.HEADERFUNCTION, made.head.append)
        request.setopt(pycurl.WRITEFUNCTION, made.content.append)
        request.setopt(pycurl.RANGE, f"{start}-{start + count - 1 if count > 0 else ''}")
        if self._signing is not None:
            name, secret, token = self._signing.credentials()
            request.setopt(pycurl.AWS_SIGV4, f"aws:amz:{self._signing.region}:s3")
            request.setopt(pycurl.USERNAME, name)
            request.setopt(pycurl.PASSWORD, secret)
            request.setopt(pycurl.HTTPHEADER, [f"x-amz-security-token:{token}"] if token else [])
        return made

    def _next(
        self, multi: Any, spare: list[Any], under_way: dict[Any, _Transfer], slots: Semaphore
    ) -> Iterator[tuple[int, Found]]:
        """Wait, and give the requests that have ended meanwhile."""
        due = multi.timeout()
        multi.select(min(due, 1000) / 1000 if due >= 0 else 1.0)
        time.sleep(_TURN)  # also as it does not wait for sockets with numbers of 1,024 and more
        multi.perform()
        _, ended, failed = multi.info_read()
        for request in (*ended, *(request for request, _, _ in failed)):
            transfer = under_way.pop(request)
            found = self._answer(request, transfer) if request in ended else None
            multi.remove_handle(request)
            spare.append(request)
            slots.release()
            self._failures = self._failures + 1 if found is None else 0
            if self._failures >= _FAILURES:
                self._paused = time.monotonic() + _PAUSE
            yield transfer.place, found

    def _answer(self, request: Any, transfer: _Transfer) -> Found:
        """The object or part, if the answer is the usual one."""
        import pycurl

        data = memoryview(b"".join(transfer.content))
        head = b"".join(transfer.head)
        tags, ranges = _TAG.findall(head), _RANGE.findall(head)
        # Without a length, a connection that breaks is taken for the end.
        complete = request.getinfo(pycurl.CONTENT_LENGTH_DOWNLOAD_T) == data.nbytes
        status = request.getinfo(pycurl.RESPONSE_CODE)
        if status != 206 or not complete or len(tags) != 1 or len(ranges) != 1 or _ENCODED.search(head):
            return None
        start, total = transfer.start, ranges[0].rpartition(b"/")[2]
        size = int(total) if total.isdigit() else 0
        end = size if transfer.size < 0 else min(start + transfer.size, size)
        if ranges[0] != b"bytes %d-%d/%d" % (start, end - 1, size) or data.nbytes != end - start or is_page(data):
            return None
        return data, Info(size, tags[0].decode("ascii"))
