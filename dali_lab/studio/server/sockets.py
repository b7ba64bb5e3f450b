"""Websockets of the app's pages, which carry the session's messages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tornado.ioloop import IOLoop
from tornado.iostream import StreamBufferFullError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dali_lab.studio.connections import Port
from dali_lab.studio.server.pace import OPENING, PIECE, Pace
from dali_lab.studio.session import Session

SOCKET = "/socket"
_LONGEST_OPENING = 2.0
"""Seconds that a client waits at most while another one opens many."""


class Sockets:
    """The open websockets of a server.

    Parameters
    ----------
    session
        The session that their pages edit.

    Attributes
    ----------
    open
        Those that are open.
    opening
        The pace at which they open.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.open: set[EditorSocket] = set()
        self.opening = Pace()

    def close(self) -> None:
        """Close all, on the server's thread."""
        for each in list(self.open):
            each.close(1001)
            each.on_close()


class EditorSocket(WebSocketHandler):
    """The websocket of a page: one client of the session, and one of a second graph's once the page shows that.

    A frame from the page is JSON, ``{"pane": 0, "message": {...}}``. One to the page is binary: the size of its head (4
    bytes, little-endian), the head as JSON, ``{"pane": 0, "sizes": [...], "message": {...}}``, and the message's
    buffers one after the other.
    """

    def initialize(self, sockets: Sockets) -> None:
        """Set up the connection, which is not open yet."""
        self._sockets = sockets
        self._pace = Pace()
        self._panes: list[tuple[Session, Port]] = []
        self._loop = IOLoop.current()
        self._closed = False

    def check_origin(self, origin: str) -> bool:
        """Whether pages from there may connect: the door has looked already."""
        return True

    async def get(self, *args: str, **named: str) -> None:
        """Open the connection, after a while where many are opened."""
        await asyncio.sleep(min(self._sockets.opening.delay(OPENING * PIECE), _LONGEST_OPENING))
        await super().get(*args, **named)

    def open(self, *args: str, **named: str) -> None:
        """Begin without Nagle's algorithm, which holds small frames up to 40 ms for a delayed confirmation."""
        self.set_nodelay(True)
        self._sockets.open.add(self)
        self._show(self._sockets.session)

    async def on_message(self, packet: str | bytes) -> None:
        """Take a message; the next is read once the pace allows it, and the client waits to send more meanwhile."""
        delay = self._pace.delay(len(packet))
        self._receive(packet)
        if delay:
            await asyncio.sleep(delay)

    def on_close(self) -> None:
        """Leave the sessions; can be called again."""
        self._closed = True
        self._sockets.open.discard(self)
        for session, port in self._panes:
            session.detach(port)

    def _show(self, session: Session) -> None:
        pane = len(self._panes)
        self._panes.append((session, session.attach(lambda message, buffers: self._deliver(message, buffers, pane))))

    def _receive(self, packet: str | bytes) -> None:
        try:
            content = json.loads(packet)
            pane, message = content["pane"], content["message"]
            if pane not in (0, 1):
                raise ValueError(f"there is no pane {pane}")
        except (KeyError, TypeError, ValueError, RecursionError):
            self.close(1003, "no message")
            return
        if pane and len(self._panes) == 1:
            self._show(self._sockets.session.beside())
        session, port = self._panes[1 if pane else 0]
        session.receive(port, message, len(packet))

    def _deliver(self, message: dict[str, Any], buffers: list[bytes], pane: int) -> None:
        """Send a message to the page, from any thread."""
        if self._closed:
            raise WebSocketClosedError
        head = {"pane": pane, "sizes": [len(buffer) for buffer in buffers], "message": message}
        text = json.dumps(head, separators=(",", ":")).encode("ascii")
        self._loop.add_callback(self._write, b"".join([len(text).to_bytes(4, "little"), text, *buffers]))

    async def _write(self, frame: bytes) -> None:
        try:
            await self.write_message(frame, binary=True)
        except StreamBufferFullError:  # the client does not read, and would not read a farewell
            if self.ws_connection is not None and self.ws_connection.stream is not None:
                self.ws_connection.stream.close()
        except WebSocketClosedError:
            pass
