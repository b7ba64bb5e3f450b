"""Sends garbage over a websocket as fast as it is taken, and connects again where it is cut; for test_limits.

``python -m tests.unit.studio.flood URL COOKIE KIND SECONDS``
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

PING = json.dumps({"pane": 0, "message": {"kind": "request", "id": "flood-1", "method": "ping", "params": {}}})
KINDS: dict[str, list[str | bytes]] = {
    "messages": [PING],
    "noise": [os.urandom(1000)],
    "large": [json.dumps({"pane": 0, "message": "x" * (1 << 20)})],
    "panes": [json.dumps({"pane": pane, "message": None}) for pane in (0.0, True, 1, 2, -1, None, [], 1e300)],
    "deep": ["[" * 100_000],
}


async def flood(url: str, cookie: str, kind: str, seconds: float) -> int:
    """Send for so many seconds; the number of pieces that were taken."""
    sent, began, connection = 0, time.monotonic(), None
    while time.monotonic() - began < seconds:
        try:
            if connection is None:
                request = HTTPRequest(url, headers={"Cookie": cookie})
                connection = await websocket_connect(request)
            for piece in KINDS[kind]:
                await asyncio.wait_for(connection.write_message(piece, isinstance(piece, bytes)), 1)
                sent += 1
        except Exception:  # it is cut off, in whatever way
            if connection is not None:
                connection.close()
            connection = None
            await asyncio.sleep(0.01)
    return sent


if __name__ == "__main__":
    url, cookie, kind, seconds = sys.argv[1:]
    sys.stdout.write(f"{asyncio.run(flood(url, cookie, kind, float(seconds)))}\n")
    sys.stdout.flush()
    os._exit(0)
