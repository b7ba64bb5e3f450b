"""GET requests over kept connections, for small objects: a third of the processor time that a client library takes.

Only the usual answer is understood: status 200 with the length of the content and a tag. The caller repeats everything
else by the library, which knows redirects, encodings, proxies and errors.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import socket
import ssl
import struct
import time
import weakref
from collections import deque
from typing import NamedTuple
from urllib.parse import urlsplit

_IDLE = 30.0
"""Seconds after which a connection is not used again."""
_FRESH = 1.0
"""Seconds after which a connection is looked at first: servers close theirs after some time."""
_LONGEST_HEAD = 32 << 10
_STATUS = b"HTTP/1.1 200 "
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,15}) *(?=\r\n)", re.I)
_TAG = re.compile(rb'\r\netag: *((?:W/)?"[\x21\x23-\x7e]*") *(?=\r\n)', re.I)
_UNUSUAL = re.compile(rb"\r\n(?:transfer-encoding|content-range) *:", re.I)
_CLOSES = re.compile(rb"\r\nconnection: *close", re.I)


Request = tuple[socket.socket, float]
"""A request that was sent: its connection, and the time at which it is given up."""


class Answer(NamedTuple):
    """The usual answer.

    Attributes
    ----------
    data
        The whole content.
    tag
        Its entity tag, as the server wrote it.
    """

    data: memoryview
    tag: str


class Connections:
    """Connections to one server, each used by one request at a time.

    Parameters
    ----------
    address
        ``http://`` or ``https://``, the server, and its port unless it is the usual one.
    timeout
        Seconds that one request may take.
    most
        Bytes of the largest content that is read.
    """

    def __init__(self, address: str, timeout: float, most: int) -> None:
        parts = urlsplit(address)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._place = parts.hostname or "", parts.port or (443 if self._tls else 80)
        self._timeout, self._most = timeout, most
        self._head = f" HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: dali-lab\r\nAccept: */*\r\n"
        self._idle: deque[tuple[float, socket.socket]] = deque()
        self._process = os.getpid()
        weakref.finalize(self, _close, self._idle)

    def kept(self) -> socket.socket | None:
        """A connection from an earlier request, if there is one."""
        if self._process != os.getpid():  # two processes on one connection would take each other's answers
            _close(self._idle)
            self._idle.clear()
            self._process = os.getpid()
        now = time.monotonic()
        with contextlib.suppress(IndexError):
            while True:
                since, connection = self._idle.pop()
                if now - since < _FRESH or (now - since < _IDLE and not _has_ended(connection)):
                    return connection
                connection.close()
        return None

    def connect(self) -> socket.socket:
        """A new connection.

        Raises
        ------
        OSError
            If the server cannot be reached, or is not the one that its certificate names.
        """
        connection = socket.create_connection(self._place, min(10.0, self._timeout))
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(self._timeout)
            if self._tls is not None:
                return self._tls.wrap_socket(connection, server_hostname=self._place[0])
            # Limits of Python's own take another system call, and another turn of the thread, for each piece.
            connection.settimeout(None)
            limit = struct.pack("ll", math.ceil(self._timeout), 0)
            for side in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                connection.setsockopt(socket.SOL_SOCKET, side, limit)
            return connection
        except BaseException:
            connection.close()
            raise

    def send(self, connection: socket.socket, target: str, headers: str) -> Request | None:
        """Send a request; `None` where that fails.

        Parameters
        ----------
        target
            The path, quoted.
        headers
            More lines of the request's head, each with its end.
        """
        try:
            connection.sendall(f"GET {target}{self._head}{headers}\r\n".encode("ascii"))
            return connection, time.monotonic() + self._timeout
        except (OSError, ValueError):
            connection.close()
            return None

    def finish(self, request: Request) -> Answer | None:
        """The answer to a request; `None` for any but the usual one."""
        connection, deadline = request
        lives = False
        try:
            answer, lives = self._answer(connection, deadline)
        except OSError:
            answer = None
        finally:
            if lives:
                self._idle.append((time.monotonic(), connection))
            else:
                connection.close()
        return answer

    def _answer(self, connection: socket.socket, deadline: float) -> tuple[Answer | None, bool]:
        """The answer, and whether the connection can be used again."""
        first = connection.recv(64 << 10)
        while (end := first.find(b"\r\n\r\n")) < 0:
            more = connection.recv(64 << 10)
            if not more or len(first) > _LONGEST_HEAD or time.monotonic() > deadline:
                return None, False
            first += more
        head = first[: end + 2]
        lengths, tag = _LENGTH.findall(head), _TAG.search(head)
        if not head.startswith(_STATUS) or len(lengths) != 1 or tag is None or _UNUSUAL.search(head):
            return None, False
        size = int(lengths[0])
        begun = len(first) - end - 4
        if size > self._most or begun > size:
            return None, False
        data = memoryview(bytearray(size))
        data[:begun] = memoryview(first)[end + 4 :]
        while begun < size:
            count = connection.recv_into(data[begun:])
            if not count or time.monotonic() > deadline:
                return None, False
            begun += count
        return Answer(data, tag[1].decode("ascii")), not _CLOSES.search(head)


def _has_ended(connection: socket.socket) -> bool:
    """Whether the server has closed a connection, or says something unasked."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _close(connections: deque[tuple[float, socket.socket]]) -> None:
    for _, connection in connections:
        connection.close()
