"""The pace of websockets: a client that sends too much is read more slowly, which holds up nobody else."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from bokeh.protocol.message import Message
from bokeh.server.views.ws import WSHandler
from tornado.web import Application

from dali_lab.studio.server.http import LARGEST_MESSAGE

PIECES_A_SECOND = 600.0
"""Pieces of messages that are read of a client on average: a message has three, and more where it is large."""
BURST = 3000.0
"""Pieces that are read at once after a pause."""
PIECE = 64 << 10
"""Bytes of a piece."""
OPENING = 100
"""Pieces that opening a connection counts as."""
_MOST_PACES = 1024


class Pace:
    """The delay before the next message is read.

    Parameters
    ----------
    clock
        Seconds that pass.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free = BURST
        self._at = clock()

    def delay(self, size: int) -> float:
        """Seconds to wait after a message of so many bytes."""
        now = self._clock()
        self._free = min(BURST, self._free + (now - self._at) * PIECES_A_SECOND) - 1 - size / PIECE
        self._at = now
        return max(0.0, -self._free / PIECES_A_SECOND)


class PacedHandler(WSHandler):
    """A websocket whose next message is read once its page's pace allows it: meanwhile the client waits to send more.

    A page keeps its pace when its connection is cut and it opens another.
    """

    paces: OrderedDict[str, Pace]
    _unfinished = 0
    """Bytes of the message that is not complete yet."""

    async def get(self, *args: str, **named: str) -> None:
        """Open the connection, after a while where one page opens many."""
        page = self.request.headers.get("Sec-WebSocket-Protocol", "")
        self._pace = self.paces.setdefault(page, Pace())
        self.paces.move_to_end(page)
        while len(self.paces) > _MOST_PACES:
            self.paces.popitem(last=False)
        await asyncio.sleep(self._pace.delay(OPENING * PIECE))
        await super().get(*args, **named)

    def open(self) -> None:
        """Begin without Nagle's algorithm, which holds small frames up to 40 ms for a delayed confirmation."""
        self.set_nodelay(True)
        super().open()

    async def on_message(self, fragment: str | bytes) -> None:
        """Take a part of a message."""
        delay = self._pace.delay(len(fragment))
        await super().on_message(fragment)
        if delay:
            await asyncio.sleep(delay)

    async def _receive(self, fragment: str | bytes) -> Message[Any] | None:
        self._unfinished += len(fragment)
        if self._unfinished > LARGEST_MESSAGE:
            self._protocol_error("the message is too large")
            return None
        try:
            message = await super()._receive(fragment)
        except Exception as error:  # Bokeh would write the whole of the garbage to the log
            self._protocol_error(f"no message: {type(error).__name__}")
            return None
        if message is not None:
            self._unfinished = 0
        return message

    def on_close(self) -> None:
        """Forget the connection."""
        super().on_close()
        # Its receiver is in a circle of references, and would keep garbage until that is collected.
        if self.receiver is not None:
            vars(self.receiver).clear()


def pace_websockets(application: Application) -> None:
    """Let all websockets of an application keep to a pace."""
    paces: OrderedDict[str, Pace] = OrderedDict()
    for rule in application.wildcard_router.rules:
        if inspect.isclass(rule.target) and issubclass(rule.target, WSHandler):
            rule.target = type("PacedHandler", (PacedHandler, rule.target), {"paces": paces})
