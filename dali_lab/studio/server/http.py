"""The HTTP server: a bounded number of connections, among which strangers make room for newcomers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tornado import httputil
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, StreamClosedError

MOST_STRANGERS = 128
"""Connections that have not shown the token; the oldest goes when there is another."""
MOST_ADMITTED = 512
"""Connections that have, without websockets; the oldest goes here, too."""
IDLE_SECONDS = 30.0
"""Time that a connection may stay silent, or take for the beginning of a request."""
LARGEST_BODY = 64 << 10
"""Bytes of a request's body: only the form for the token has one."""
LARGEST_MESSAGE = 32 << 20
"""Bytes of a message over a websocket; of a larger one nothing is read, and the connection ends."""
LARGEST_BACKLOG = 256 << 20
"""Bytes that wait for a client that does not read them; at more its connection ends."""
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Server(HTTPServer):
    """An HTTP server that thousands of silent connections do not fill."""

    def initialize(self, request_callback: Any, **options: Any) -> None:  # type: ignore[override]
        """Set up the server with limits."""
        self._strangers: OrderedDict[IOStream, None] = OrderedDict()
        self._admitted: OrderedDict[IOStream, None] = OrderedDict()
        super().initialize(
            request_callback,
            idle_connection_timeout=IDLE_SECONDS,
            body_timeout=IDLE_SECONDS,
            max_body_size=LARGEST_BODY,
            **options,
        )

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Serve a new connection; the oldest of too many is refused."""
        stream.max_write_buffer_size = LARGEST_BACKLOG
        self._strangers[stream] = None
        _bound(self._strangers, MOST_STRANGERS)
        super().handle_stream(stream, address)

    def admit(self, request: httputil.HTTPServerRequest) -> None:
        """Count the connection of a request among those that have shown the token."""
        stream = getattr(request.connection, "stream", None)
        if stream is not None and not stream.closed():
            self._strangers.pop(stream, None)
            self._admitted[stream] = None
            self._admitted.move_to_end(stream)
            _bound(self._admitted, MOST_ADMITTED)

    def on_close(self, server_conn: object) -> None:
        """Forget a connection that has ended, or is a websocket now."""
        super().on_close(server_conn)
        stream = getattr(server_conn, "stream", None)
        self._strangers.pop(stream, None)  # type: ignore[arg-type]
        self._admitted.pop(stream, None)  # type: ignore[arg-type]


def _bound(streams: OrderedDict[IOStream, None], most: int) -> None:
    while len(streams) > most:
        stream, _ = streams.popitem(last=False)
        try:
            stream.write(_FULL)
        except StreamClosedError:
            continue
        stream.close()
