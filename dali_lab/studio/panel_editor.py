"""The editor as a part of a Panel page.

Panel serves only files below the folder of a component's module, so this one lies beside `static`.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from pathlib import Path
from typing import Any, ClassVar

import panel as pn
import param
from bokeh.document import Document
from panel.custom import JSComponent
from panel.models.esm import ESMEvent

from dali_lab.studio.bundle import BUNDLE
from dali_lab.studio.connections import Port
from dali_lab.studio.session import Session


class DaliLabEditor(JSComponent):
    """The editor in a Panel layout; one client of a session for each place where it is shown."""

    theme: Any = param.Selector(
        default="auto", objects=["auto", "light", "dark"], doc="Colours: the system's, light or dark."
    )

    view: Any = param.Selector(default="editor", objects=["editor", "gallery"], doc="What is shown first.")

    compact: Any = param.Boolean(default=False, doc="With the pictures at the nodes alone at first, for little room.")

    picture: Any = param.String(default="", doc="The graph as SVG, shown where no session answers.")

    _bundle: ClassVar[Path] = BUNDLE

    def __init__(self, session: Session | None = None, **params: object) -> None:
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
        self._panes: list[tuple[Session, Port]] = []
        if session is not None:
            self._show(session)
        if self._document is not None:
            pn.state.on_session_destroyed(lambda _: self.disconnect())

    def _show(self, session: Session) -> None:
        """Connect the next pane of the page: the editor, and then that of a second graph beside it."""
        pane = len(self._panes)
        self._panes.append((session, session.attach(lambda message, buffers: self._deliver(message, buffers, pane))))

    def disconnect(self) -> None:
        """Leave the sessions."""
        for session, port in self._panes:
            session.detach(port)

    def _handle_msg(self, data: Any) -> None:
        try:
            text = data["message"]
            message = json.loads(text)
        except (KeyError, TypeError, ValueError, RecursionError):
            return
        pane = 1 if data.get("pane") == 1 else 0
        if pane == len(self._panes) == 1:
            self._show(self._panes[0][0].beside())
        if pane < len(self._panes):
            session, port = self._panes[pane]
            session.receive(port, message, len(text))

    def _deliver(self, message: dict[str, Any], buffers: list[bytes], pane: int) -> None:
        """Send a message to the page, from any thread; messages queued meanwhile go along."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            self._waiting.append({"message": text, "buffers": list(buffers), "pane": pane})
            if self._scheduled:
                return
            self._scheduled = True
        if self._loop is not None:
            # On the server's own thread: a document that holds its events loses what other threads add to it.
            self._loop.add_callback(self._flush_soon)
        else:
            self._flush_soon()

    def _flush_soon(self) -> None:
        """Send queued messages once the document is locked, where it has a lock."""
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
