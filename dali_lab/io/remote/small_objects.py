"""Whole small objects of S3 and of web servers by libcurl, which takes two thirds of obstore's processor time for them.

Objects of 52 KiB from a server that answers after 20 ms, in turn on a busy machine: 93 to 98 µs of a core for each with
its signature, where obstore takes 133 to 152 and urllib3 375 to 405. Only the usual answer is taken: status 200 with
the length of the content and a tag. obstore, which knows redirects and errors, reads everything else.
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

from dali_lab.io.remote.store import Info
from dali_lab.model.extras import installed

Found = tuple[memoryview, Info] | None
"""An object and what it is; `None` where obstore is to be asked for it."""

_NAME = "[A-Za-z0-9_=-][A-Za-z0-9_.=-]*"
_PLAIN = re.compile(f"(?:{_NAME}/)*{_NAME}")
"""Keys that every library writes into an address in the same way."""

_TAG = re.compile(rb'(?i)etag: *((?:W/)?"[\x21\x23-\x7e]*") *\r\n')
_CONTENT_RANGE = b"content-range"

_FAILURES = 8
_PAUSE = 60.0
"""After so many failures in a row, obstore is asked at once for so many seconds."""

_TURN = 0.002
"""Seconds between two looks at connections that cannot be waited for."""


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
    """A request that is under way: place of its key, lines of the answer's head, pieces of its content."""

    place: int
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

    def read(self, keys: Sequence[str], slots: Semaphore) -> Iterator[tuple[int, Found]]:
        """Objects and what they are, each with the index of its key, as they come; `None` where to ask obstore.

        All are requested before an answer is waited for, which spares turns of threads.

        Parameters
        ----------
        slots
            One is held for each request.
        """
        taken = [index for index, key in enumerate(keys) if self._takes(key)]
        yield from ((index, None) for index in range(len(keys)) if index not in taken)
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
                    under_way[request] = self._begun(request, index, keys[index])
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

    def _begun(self, request: Any, index: int, key: str) -> _Transfer:
        import pycurl

        made = _Transfer(index, [], [])
        request.setopt(pycurl.URL, self._place + quote(key))
        request.setopt(pycurl.HEADERFUNCTION, made.head.append)
        request.setopt(pycurl.WRITEFUNCTION, made.content.append)
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
        if multi.select(min(due, 1000) / 1000 if due >= 0 else 1.0) <= 0 and due:
            time.sleep(_TURN)  # it does not wait for sockets with numbers of 1,024 and more
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
        """The object, if the answer is the usual one."""
        import pycurl

        data = memoryview(b"".join(transfer.content))
        tags = [found[1] for line in transfer.head if (found := _TAG.fullmatch(line))]
        partial = any(line[: len(_CONTENT_RANGE)].lower() == _CONTENT_RANGE for line in transfer.head)
        usual = request.getinfo(pycurl.RESPONSE_CODE) == 200 and len(tags) == 1 and not partial
        # Without a length, a connection that breaks is taken for the end.
        if not usual or request.getinfo(pycurl.CONTENT_LENGTH_DOWNLOAD_T) != data.nbytes:
            return None
        return data, Info(data.nbytes, tags[0].decode("ascii"))
