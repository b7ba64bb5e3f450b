"""A small reverse proxy, which shows a server under a path of its own as JupyterHub and nginx do."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import suppress

_HEAD = re.compile(rb"^(\S+) (\S+) (HTTP/1\.1)\r\n")


class Proxy:
    """Forwards HTTP and websockets below a prefix to a port of this machine.

    Parameters
    ----------
    strips
        Whether the server behind it sees addresses without the prefix.
    host
        The Host header that the server behind it sees; by default the browser's.
    """

    def __init__(self, port: int, prefix: str, *, strips: bool, host: str | None = None) -> None:
        self._behind = port
        self._prefix = prefix.encode()
        self._strips = strips
        self._host = host
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._ready.wait(60)

    def close(self) -> None:
        """Stop listening."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._forward, "127.0.0.1", 0))
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        self._loop.run_forever()
        server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            found = _HEAD.match(head)
            assert found is not None
            method, path, version = found.groups()
            if not path.startswith(self._prefix):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
                writer.close()
                return
            if self._strips:
                path = path[len(self._prefix) :] or b"/"
            rest = head[found.end() :]
            if b"upgrade: websocket" not in rest.lower():
                rest = re.sub(rb"(?im)^connection:.*\r\n", b"", rest)
                rest = b"Connection: close\r\n" + rest
            if self._host is not None:
                rest = re.sub(rb"(?im)^host:.*\r\n", f"Host: {self._host}\r\n".encode(), rest)
            behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._behind)
            behind_writer.write(b"%s %s %s\r\n%s" % (method, path, version, rest))
            await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()
