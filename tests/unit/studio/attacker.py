"""A client of its own, which talks to the app's server by sockets, HTTP and websockets as an attacker would."""

from __future__ import annotations

import asyncio
import http.client
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from dali_lab.studio.hosts.app_server import AppServer
from dali_lab.studio.server.sockets import SOCKET
from dali_lab.studio.session import Session

PATIENCE = 120


def serve(session: Session, **options: Any) -> AppServer:
    """Start the app's server."""
    return AppServer(session, **options)


@dataclass
class Answer:
    """The server's answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def cookie(self) -> str:
        """Name and value of the cookie that it sets."""
        return self.headers["Set-Cookie"].split(";")[0]


class Attacker:
    """Sends requests to a server; none has a token or a cookie, except as said."""

    def __init__(self, server: AppServer) -> None:
        self.server = server
        self.port = server.port

    def ask(self, path: str = "/", method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Send a request; headers are written ``Sec_Fetch_Site="none"``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def cookie(self) -> str:
        """The cookie of somebody who has the token."""
        return self.ask(f"/?token={self.server.access.token}").cookie

    def upgrade(self, cookie: str) -> bytes:
        """The request that opens a websocket, for those who write the rest by hand."""
        return (
            f"GET {SOCKET} HTTP/1.1\r\nHost: localhost:{self.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nCookie: {cookie}\r\n\r\n"
        ).encode()

    def websocket(self, path: str = SOCKET, **headers: str) -> int:
        """The status with which a websocket is answered; 101 where it opens."""

        async def connect() -> int:
            url = f"ws://127.0.0.1:{self.port}{path}"
            request = HTTPRequest(url, headers={name.replace("_", "-"): text for name, text in headers.items()})
            try:
                connection = await websocket_connect(request)
            except HTTPClientError as error:
                return error.code
            connection.close()
            return 101

        # Tests of the page leave a loop running on this thread.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, connect()).result(PATIENCE)
