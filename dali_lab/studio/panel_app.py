"""The Panel app: serves the editor as a page, all of whose tabs are on one session."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import socket
import threading
import webbrowser
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import panel as pn
import param
from bokeh.document import Document
from panel.custom import JSComponent
from panel.models.esm import ESMEvent

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.clients import Port
from dali_lab.studio.session import Session

BUNDLE = Path(__file__).with_name("static") / "editor.js"
ICON = Path(__file__).with_name("icon.svg")
DEFAULT_PORT = 5080
_LOCAL = ("127.0.0.1", "localhost")
_ATTEMPTS = 10


class DaliLabEditor(JSComponent):
    """The editor in a Panel layout; one client of a session for each place where it is shown."""

    theme: Any = param.Selector(
        default="auto", objects=["auto", "light", "dark"], doc="Colours: the system's, light or dark."
    )

    view: Any = param.Selector(default="editor", objects=["editor", "gallery"], doc="What is shown first.")

    compact: Any = param.Boolean(default=False, doc="With the pictures at the nodes alone at first, for little room.")

    picture: Any = param.String(default="", doc="The graph as SVG, shown where no session answers.")

    _bundle: ClassVar[Path] = BUNDLE

    def __init__(self, session: Session | None = None, **params: Any) -> None:
        super().__init__(
            **{  # type: ignore[no-untyped-call]
                "sizing_mode": "stretch_both",
                "margin": 0,
                **params,
            }
        )
        self._waiting: deque[dict[str, Any]] = deque()
        self._lock = threading.Lock()
        self._scheduled = False
        self._document: Document | None = pn.state.curdoc
        self._loop = _loop_of(self._document)
        self._port: Port | None = None
        self._session = session
        if session is not None:
            self._port = session.attach(self._deliver)
        if self._document is not None:
            pn.state.on_session_destroyed(lambda _: self.disconnect())

    def disconnect(self) -> None:
        """Leave the session."""
        if self._session is not None and self._port is not None:
            self._session.detach(self._port)

    def _handle_msg(self, data: Any) -> None:
        try:
            message = json.loads(data["message"])
        except (KeyError, TypeError, ValueError):
            return
        if self._session is not None and self._port is not None:
            self._session.receive(self._port, message)

    def _deliver(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        """Hand a message to the page, from any thread; what comes meanwhile goes with it."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            self._waiting.append({"message": text, "buffers": list(buffers)})
            if self._scheduled:
                return
            self._scheduled = True
        if self._loop is not None:
            # On the server's own thread: a document that holds its events loses what other threads add to it.
            self._loop.add_callback(self._flush_soon)
        else:
            self._flush_soon()

    def _flush_soon(self) -> None:
        """Send what waits once the document is locked, where it has a lock."""
        if self._document is None:
            self._flush()
        else:
            self._document.add_next_tick_callback(self._flush)

    def _flush(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._scheduled = False
                    return
                data = self._waiting.popleft()
            try:
                self._send(data)
            except BaseException:
                with self._lock:
                    self._scheduled = False
                raise

    def _send(self, data: dict[str, Any]) -> None:
        if self._loop is None or self._document is None:
            self._send_msg(data)
            return
        # By Bokeh, which waits for the connection under the document's lock. Panel writes past the lock, and what it
        # puts off because the connection is busy stays with it until there is something else to be sent.
        for model, _ in list(self._models.values()):
            self._document.callbacks.send_event(ESMEvent(model=model, data=data))  # type: ignore[no-untyped-call]


def _loop_of(document: Document | None) -> Any:
    """The loop of the Bokeh server that a document is on; `None` if no such server has it."""
    context = getattr(document, "session_context", None)
    application = getattr(getattr(context, "server_context", None), "application_context", None)
    return getattr(application, "io_loop", None)


class AppServer:
    """A server that runs on a thread of its own.

    Parameters
    ----------
    session
        What the page shows.
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
        if not BUNDLE.is_file():
            raise DaliLabError(
                f"the editor is not built: there is no {BUNDLE}; install with pip, or run 'jlpm build' in extension/"
            )
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
        """Where the page is."""
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
    """What Panel calls for each tab; `view` is what it shows first."""

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
    """The icon as an address that holds it."""
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
