"""A proxy between a client and a server, which delays, refuses and breaks answers as a test tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.servers.serving import serving

Fault = Callable[[str, str], "str | None"]
"""Called with method and path of a request: `None` lets it pass, ``"cut"`` ends the connection in the middle of the
answer, ``"hang"`` never answers, and a number such as ``"503"`` or ``"503 <Code>SlowDown</Code>"`` is the answer."""


@dataclass
class Proxy:
    """A proxy that runs.

    Attributes
    ----------
    address
        Its URL.
    delay
        Seconds before each answer.
    together
        Requests that must be under way at the same time before the first of them is answered.
    fault
        What goes wrong.
    requests
        Method and path of each request so far.
    connections
        Connections that were opened so far.
    most
        Most requests that were under way at the same time.
    sent
        Called with the bytes of the content of each answer.
    """

    address: str = ""
    delay: float = 0.0
    together: int = 0
    fault: Fault = lambda method, path: None
    requests: list[tuple[str, str]] = field(default_factory=list)
    connections: int = 0
    most: int = 0
    sent: Callable[[int], object] = lambda count: None
    _now: int = 0

    async def serve(self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        self.connections += 1
        target = urlsplit(server)
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                body = await reader.readexactly(_length(head))
                self.requests.append((method, path))
                self._now += 1
                self.most = max(self.most, self._now)
                try:
                    if self.delay:
                        await asyncio.sleep(self.delay)
                    while self.most < self.together:
                        await asyncio.sleep(0.01)
                    fault = self.fault(method, path)
                    if fault == "hang":
                        await asyncio.sleep(3600)
                    if fault is not None and fault != "cut":
                        status, _, said = fault.partition(" ")
                        writer.write(f"HTTP/1.1 {status} Fault\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode())
                        await writer.drain()
                        continue
                    if upstream is None:
                        upstream = await asyncio.open_connection(target.hostname, target.port, limit=1 << 22)
                    upstream[1].write(head + body)
                    answer = await upstream[0].readuntil(b"\r\n\r\n")
                    count = (
                        0 if method == "HEAD" or b" 304 " in answer[:16] or b" 204 " in answer[:16] else _length(answer)
                    )
                    content = await upstream[0].readexactly(count)
                    self.sent(count)
                    if fault == "cut":
                        writer.write(answer + content[: count // 2])
                        await writer.drain()
                        break
                    writer.write(answer + content)
                    await writer.drain()
                    if b"connection: close" in answer.lower():
                        upstream[1].close()
                        upstream = None
                finally:
                    self._now -= 1
        for stream in (writer, upstream[1] if upstream else None):
            if stream is not None:
                stream.close()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


@contextmanager
def proxy(server: str) -> Iterator[Proxy]:
    """A proxy before a server, on a thread of its own."""
    result = Proxy()
    with serving(lambda reader, writer: result.serve(server, reader, writer), limit=1 << 20) as result.address:
        yield result
