"""The app's server: the editor as a page; all browser tabs share one session."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from typing import Any
from urllib.parse import quote

from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.bundle import require_bundle
from dali_lab.studio.server.access import EVERYWHERE, Access
from dali_lab.studio.server.door import Door
from dali_lab.studio.server.http import LARGEST_MESSAGE, Server
from dali_lab.studio.server.log import LibraryLog
from dali_lab.studio.server.pages import DOCUMENTATION, page_routes
from dali_lab.studio.server.policy import SecurityHeaders
from dali_lab.studio.server.sockets import SOCKET, EditorSocket, Sockets
from dali_lab.studio.session import Session

DEFAULT_PORT = 5080


class AppServer:
    """A server that runs on a thread of its own.

    Parameters
    ----------
    session
        The session behind the page.
    host, port
        Where to listen; port 0 takes a free one.
    title
        The page's title.
    access
        The token, and the addresses that it answers at; by default a token drawn at random.

    Raises
    ------
    DaliLabError
        If the port is taken, the certificate cannot be used, or the editor was not built.
    """

    def __init__(
        self,
        session: Session,
        host: str = "127.0.0.1",
        port: int = 0,
        title: str = "DALI Lab",
        access: Access | None = None,
    ) -> None:
        require_bundle()
        self.session = session
        self.host = host
        self.access = access or Access()
        session.documentation = f"{self.access.prefix}{DOCUMENTATION}"
        bound = listening(host, port)
        self.port = int(bound[0].getsockname()[1])
        self._tls = self.access.tls()
        self._log = LibraryLog()
        self._ready = threading.Event()
        self._loop: Any = None
        self._title = title
        self._thread = threading.Thread(target=self._serve, args=(bound,), name="dali-lab-server", daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def address(self) -> str:
        """The page's URL, with the token."""
        return self.link()

    def link(self, page: str = "") -> str:
        """The URL of a page, with the token that opens it."""
        return f"{self.url}{page}?token={quote(self.access.token)}"

    @property
    def url(self) -> str:
        """The URL that all pages begin with."""
        host = "127.0.0.1" if self.host in EVERYWHERE else self.host
        scheme = "http" if self.access.certificate is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}{self.access.prefix}/"

    def close(self) -> None:
        """Stop listening; can be called again."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        loop.add_callback(self._stop, loop)
        self._thread.join(5)
        self._log.remove()

    def _stop(self, loop: Any) -> None:
        self._http.stop()
        self._sockets.close()
        loop.stop()

    def _serve(self, bound: list[socket.socket]) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        self._log.install()
        self._sockets = Sockets(self.session)
        self._door = Door(self._application(), self.access, self._sockets, self.host, self.port)
        self._http = Server(self._door, ssl_options=self._tls)
        self._door.on_admitted = self._http.admit
        self._http.add_sockets(bound)
        self._loop.add_callback(self._ready.set)
        self._loop.start()

    def _application(self) -> Application:
        return Application(
            [*page_routes(self.session, self._title), (SOCKET, EditorSocket, {"sockets": self._sockets})],
            transforms=[SecurityHeaders],
            log_function=lambda handler: None,  # the door logs refusals, and not each of many
            websocket_max_message_size=LARGEST_MESSAGE,
            websocket_ping_interval=15,
        )


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at an address; for port 0 at the first of the usual ports that is free, or at any.

    Raises
    ------
    DaliLabError
        If there is no such address, or the port is taken.
    """
    for wanted in [port] if port else [*range(DEFAULT_PORT, DEFAULT_PORT + 20), 0]:
        try:
            return bind_sockets(wanted, host)
        except OSError as error:
            if wanted == port or error.errno not in (errno.EADDRINUSE, errno.EACCES):
                reason = error.strerror or error
                raise DaliLabError(f"cannot listen on {host}, port {wanted}: {reason}") from error
    raise AssertionError("port 0 is always tried")
