"""The editor as a part of a Panel page.

Panel serves only files below the folder of a component's module, so this one lies beside `static`.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, ClassVar

import panel as pn
import param
from bokeh.document import Document
from panel.custom import JSComponent
from panel.models.esm import ESMEvent

from dali_lab.studio.bundle import BUNDLE
from dali_lab.studio.session import Session

_MOST_TOGETHER = 16
"""Messages taken from one packet: packets are paced, not messages."""


class DaliLabEditor(JSComponent):
    """The editor in a Panel layout; one client of a session for each page that shows it."""

    theme: Any = param.Selector(
        default="auto", objects=["auto", "light", "dark"], doc="Colours: the system's, light or dark."
    )

    picture: Any = param.String(default="", doc="The graph as SVG, shown where no session answers.")

    _bundle: ClassVar[Path] = BUNDLE

    def __init__(self, session: Session, **params: object) -> None:
        super().__init__(**{"margin": 0, **params})  # type: ignore[no-untyped-call]
        self._waiting: list[tuple[str, list[bytes]]] = []
        self._lock = threading.Lock()
        self._document: Document | None = pn.state.curdoc
        self._loop = _loop_of(self._document)
        self._session = session
        self._port = session.attach(self._deliver)
        if self._document is not None:
            pn.state.on_session_destroyed(lambda _: session.detach(self._port))

    def _handle_msg(self, data: Any) -> None:
        try:
            messages = json.loads(data["messages"])[:_MOST_TOGETHER]
            size = len(data["messages"]) // len(messages)
        except (ArithmeticError, KeyError, TypeError, ValueError, RecursionError):
            return
        for message in messages:
            self._session.receive(self._port, message, size)

    def _deliver(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        """Send a message to the page, from any thread; messages queued meanwhile go along in one packet."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            self._waiting.append((text, buffers))
            if len(self._waiting) > 1:
                return
        if self._loop is None:
            self._flush_soon()
        else:
            # On the server's own thread: a document that holds its events loses what other threads add to it.
            self._loop.add_callback(self._flush_soon)

    def _flush_soon(self) -> None:
        """Send queued messages once the document is locked, where it has a lock."""
        if self._document is None:
            self._flush()
        else:
            self._document.add_next_tick_callback(self._flush)

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        self._send(
            # As one packet: Bokeh sends one frame for all their buffers, as each frame costs about as much.
            {
                "messages": f"[{','.join(text for text, _ in waiting)}]",
                "sizes": [[len(buffer) for buffer in buffers] for _, buffers in waiting],
                "bytes": b"".join(buffer for _, buffers in waiting for buffer in buffers) or None,
            }
        )

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
