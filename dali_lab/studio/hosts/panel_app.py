"""The Panel app: serves the editor as a page; all browser tabs share one session."""

from __future__ import annotations

import asyncio
import base64
import errno
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import panel as pn
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from panel.io.application import build_applications
from panel.io.resources import get_dist_path
from tornado.netutil import bind_sockets

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.bundle import BUNDLE, require_bundle
from dali_lab.studio.panel_editor import DaliLabEditor
from dali_lab.studio.server.access import EVERYWHERE, Access
from dali_lab.studio.server.door import Door
from dali_lab.studio.server.http import LARGEST_MESSAGE, Server
from dali_lab.studio.server.log import LibraryLog
from dali_lab.studio.server.pace import pace_websockets
from dali_lab.studio.server.policy import SecurityHeaders
from dali_lab.studio.server.routes import DOCUMENTATION, documentation_route, editor_route, remove_unneeded_routes
from dali_lab.studio.session import Session

ICON = BUNDLE.parents[1] / "icon.svg"
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
        sockets = listening(host, port)
        self.port = int(sockets[0].getsockname()[1])
        self._tls = self.access.tls()
        self._log = LibraryLog()
        self._ready = threading.Event()
        self._server: Any = None
        self._loop: Any = None
        self._title = title
        self._thread = threading.Thread(target=self._serve, args=(sockets,), name="dali-lab-server", daemon=True)
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
        self._server.stop(wait=False)
        loop.stop()

    def _serve(self, sockets: list[socket.socket]) -> None:
        from tornado.ioloop import IOLoop

        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        application = self._application()
        remove_unneeded_routes(application)
        pace_websockets(application)
        self._log.install()
        self._door = Door(application, self.access, self.host, self.port)
        self._http = Server(self._door, ssl_options=self._tls)
        self._door.on_admitted = self._http.admit
        self._http.add_sockets(sockets)
        self._server = BaseServer(self._loop, application, self._http)
        self._server.start()
        self._loop.add_callback(self._ready.set)
        self._loop.start()

    def _application(self) -> BokehTornado:
        pages = {
            "/": page(self.session, self._title),
            "/gallery": page(self.session, f"{self._title}: gallery", view="gallery"),
        }
        return BokehTornado(
            build_applications(pages, title=self._title, location=False),  # type: ignore[arg-type]
            # The door looks at hosts and origins, for pages and websockets alike.
            extra_websocket_origins=["*"],
            extra_patterns=[editor_route(), documentation_route()],
            secret_key=self.access.derived("sessions of pages").encode(),
            sign_sessions=True,
            # A page has the headers and cookies that its server remembers in its text, where scripts can read them.
            include_headers=[],
            include_cookies=[],
            ico_path="none",
            use_index=False,
            keep_alive_milliseconds=15_000,
            check_unused_sessions_milliseconds=5_000,
            unused_session_lifetime_milliseconds=20_000,
            websocket_max_message_size_bytes=LARGEST_MESSAGE,
            transforms=[SecurityHeaders],
            log_function=lambda handler: None,  # the door logs refusals, and not each of many
        )


def page(session: Session, title: str, view: str = "editor") -> Callable[[], DaliLabEditor]:
    """Function that Panel calls for each browser tab; `view` is shown first."""

    def make() -> DaliLabEditor:
        if view == "gallery":
            session.gallery_page.load()
        editor = DaliLabEditor(session, view=view)
        document = pn.state.curdoc
        if document is not None:
            document.title = title
            # Panel tells a document where its styles are as it writes the page. One that a late websocket makes anew
            # was told nothing, and would ask Panel's server on the internet.
            document.template_variables["dist_url"] = get_dist_path(cdn=False)
            document.template_variables["app_favicon"] = icon()
            document.template_variables["apple_icon"] = icon()
        return editor

    return make


def icon() -> str:
    """The icon as a data URL."""
    return "data:image/svg+xml;base64," + base64.b64encode(ICON.read_bytes()).decode("ascii")


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
