"""The editor as a part of a Panel page.

Panel serves only files below the folder of a component's module, so this one lies beside `static`.
"""

from __future__ import annotations

import json
import math
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import panel as pn
import param
from bokeh.document import Document
from panel.custom import JSComponent
from panel.models.esm import ESMEvent

from dali_lab.studio.bundle import BUNDLE
from dali_lab.studio.connections import Port
from dali_lab.studio.session import Session

_MOST_TOGETHER = 16
"""Messages taken from one packet: packets are paced, not messages."""
_PATIENCE = 0.04
"""Seconds after a request for a preview in which messages without pictures wait for those with."""


class _Waiting(NamedTuple):
    """A message to the page."""

    pane: int
    text: str
    buffers: list[bytes]


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
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()
        self._due = math.inf  # the time of the next flush
        self._patient_until = 0.0
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
            messages = json.loads(data["messages"])[:_MOST_TOGETHER]
            size = len(data["messages"]) // len(messages)
        except (ArithmeticError, KeyError, TypeError, ValueError, RecursionError):
            return
        pane = 1 if data.get("pane") == 1 else 0
        if pane == len(self._panes) == 1:
            self._show(self._panes[0][0].beside())
        if any(isinstance(message, dict) and message.get("method") == "preview" for message in messages):
            self._patient_until = time.monotonic() + _PATIENCE
        if pane < len(self._panes):
            session, port = self._panes[pane]
            for message in messages:
                session.receive(port, message, size)

    def _deliver(self, message: dict[str, Any], buffers: list[bytes], pane: int) -> None:
        """Send a message to the page, from any thread; messages queued meanwhile go along in one packet."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        now = time.monotonic()
        waits = self._loop is not None and not buffers and message.get("event") != "preview.done"
        due = max(now, self._patient_until) if waits else now
        with self._lock:
            self._waiting.append(_Waiting(pane, text, buffers))
            if due >= self._due:
                return
            self._due = due
        if self._loop is None:
            self._flush_soon()
        # On the server's own thread: a document that holds its events loses what other threads add to it.
        elif due > now:
            self._loop.add_callback(self._loop.call_later, due - now, self._flush_soon)
        else:
            self._loop.add_callback(self._flush_soon)

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
                    self._due = math.inf
                    return
                waiting, self._waiting = self._waiting, []
            try:
                for pane in dict.fromkeys(each.pane for each in waiting):
                    self._send(_packet(pane, [each for each in waiting if each.pane == pane]))
            except BaseException:
                with self._lock:
                    self._due = math.inf
                raise

    def _send(self, data: dict[str, Any]) -> None:
        if self._loop is None or self._document is None:
            self._send_msg(data)
            return
        # By Bokeh, which waits for the connection under the document's lock. Panel writes past the lock, and what it
        # puts off because the connection is busy stays with it until there is something else to be sent.
        for model, _ in list(self._models.values()):
            self._document.callbacks.send_event(ESMEvent(model=model, data=data))  # type: ignore[no-untyped-call]


def _packet(pane: int, messages: list[_Waiting]) -> dict[str, Any]:
    """Messages as one packet: Bokeh sends one frame for all their buffers, as each frame costs about as much."""
    return {
        "pane": pane,
        "messages": f"[{','.join(each.text for each in messages)}]",
        "sizes": [[len(buffer) for buffer in each.buffers] for each in messages],
        "bytes": b"".join(buffer for each in messages for buffer in each.buffers) or None,
    }


def _loop_of(document: Document | None) -> Any:
    """The loop of the Bokeh server that a document is on; `None` if no such server has it."""
    context = getattr(document, "session_context", None)
    application = getattr(getattr(context, "server_context", None), "application_context", None)
    return getattr(application, "io_loop", None)
