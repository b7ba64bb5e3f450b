"""The Panel app: serves the editor as a page; all browser tabs share one session."""

from __future__ import annotations

import base64
import contextlib
import errno
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

import panel as pn

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.bundle import BUNDLE, require_bundle
from dali_lab.studio.panel_editor import DaliLabEditor
from dali_lab.studio.session import Session

ICON = BUNDLE.parents[1] / "icon.svg"
DEFAULT_PORT = 5080
_LOCAL = ("127.0.0.1", "localhost")
_ATTEMPTS = 10


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

    Raises
    ------
    DaliLabError
        If the port is taken, or the editor was not built.
    """

    def __init__(self, session: Session, host: str = "127.0.0.1", port: int = 0, title: str = "DALI Lab") -> None:
        require_bundle()
        self.session = session
        self.host = host
        self.port = port
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._server: Any = None
        self._loop: Any = None
        self._title = title
        self._thread = threading.Thread(target=self._serve, name="dali-lab-server", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            reason = getattr(self._failure, "strerror", None) or str(self._failure)
            raise DaliLabError(f"cannot listen on {host}, port {self.port}: {reason}")

    @property
    def address(self) -> str:
        """The page's URL."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def close(self) -> None:
        """Stop listening; can be called again."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        loop.add_callback(self._stop, loop)
        self._thread.join(5)

    def _stop(self, loop: Any) -> None:
        self._server.stop(wait=False)
        loop.stop()

    def _serve(self) -> None:
        import asyncio

        from tornado.ioloop import IOLoop

        try:
            asyncio.set_event_loop(asyncio.new_event_loop())
            self._loop = IOLoop.current()
            self._server = self._listen()
            self._server.start()
        except BaseException as error:  # told to the thread that waits
            self._failure = error
            self._ready.set()
            return
        self._loop.add_callback(self._ready.set)
        self._loop.start()
        self._loop_ended()

    def _loop_ended(self) -> None:
        self._ready.set()

    def _listen(self) -> Any:
        demanded = bool(self.port)
        for _ in range(_ATTEMPTS):
            if not demanded:
                self.port = free_port(self.host)
            try:
                return self._server_at(self.port)
            except OSError as error:  # another program may have taken a port that was free a moment ago
                if demanded or error.errno != errno.EADDRINUSE:
                    raise
        return self._server_at(self.port)

    def _server_at(self, port: int) -> Any:
        return pn.io.server.get_server(
            {
                "/": page(self.session, self._title),
                "/gallery": page(self.session, f"{self._title}: gallery", view="gallery"),
            },
            port=port,
            address=self.host,
            websocket_origin=origins(self.host, port),
            loop=self._loop,
            title=self._title,
            show=False,
            start=False,
            verbose=False,
            location=False,
            ico_path="none",
            keep_alive_milliseconds=15_000,
            check_unused_sessions_milliseconds=5_000,
            unused_session_lifetime_milliseconds=20_000,
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
            document.template_variables["app_favicon"] = icon()
            document.template_variables["apple_icon"] = icon()
        return editor

    return make


def icon() -> str:
    """The icon as a data URL."""
    return "data:image/svg+xml;base64," + base64.b64encode(ICON.read_bytes()).decode("ascii")


def free_port(host: str, wanted: int = DEFAULT_PORT) -> int:
    """`wanted` or one of the ports after it, whichever is the first that is free; else any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in (*range(wanted, wanted + 20), 0):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if port == 0:
                    raise DaliLabError(f"cannot listen on {host}: {error.strerror or error}") from error
                continue
            return int(probe.getsockname()[1])
    raise AssertionError("port 0 is always tried")


def origins(host: str, port: int) -> list[str]:
    """Pages from which a browser may talk to the server: its own, under each of the machine's names."""
    names = {host, *(_LOCAL if host in _LOCAL or host in ("0.0.0.0", "::", "") else ())}
    if host in ("0.0.0.0", "::", ""):
        own = socket.gethostname()
        names |= {own, socket.getfqdn()}
        with contextlib.suppress(OSError):
            names |= {str(entry[4][0]) for entry in socket.getaddrinfo(own, None)}
    # Bokeh knows no IPv6 addresses here.
    return sorted(f"{name}:{port}" for name in names if name and ":" not in name)


def open_browser(address: str) -> None:
    """Open the page in the person's browser, without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
