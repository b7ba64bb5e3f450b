"""The session's messages reach the page: all of them, in order, from any thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.ioloop import IOLoop

from dali_lab.studio.session import Session
from tests.programs import LIMIT

SENDERS, MESSAGES = 4, 100


class Page:
    """A document on a loop, as a Bokeh server has it, and what is sent over its connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from bokeh.document import Document  # as with Panel, importing it takes long

        self.document = Document()
        self.heard: list[dict[str, Any]] = []
        self.sizes: list[list[int]] = []
        self.buffers = b""
        self.askers: set[int] = set()
        self.complete = threading.Event()
        self._loop: Any = None
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(LIMIT)
        application = SimpleNamespace(io_loop=self._loop)
        request = SimpleNamespace(arguments={}, headers={}, cookies={})
        context = SimpleNamespace(
            server_context=SimpleNamespace(application_context=application), request=request, session=None
        )
        monkeypatch.setattr(self.document, "_session_context", lambda: context)
        monkeypatch.setattr(self.document, "add_next_tick_callback", self._next_tick)
        self.document.callbacks.on_change_dispatch_to(self)

    @property
    def thread(self) -> int | None:
        return self._thread.ident

    def _serve(self, ready: threading.Event) -> None:
        import asyncio

        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        self._loop.add_callback(ready.set)
        self._loop.start()

    def _next_tick(self, callback: Callable[[], None]) -> None:
        self.askers.add(threading.get_ident())
        self._loop.add_callback(callback)

    def _document_message_sent(self, event: Any) -> None:
        """Called by Bokeh with each message to the page."""
        packet = event.msg_data.data
        self.heard.extend(json.loads(packet["messages"]))
        self.buffers += packet["bytes"] or b""
        self.sizes.extend(packet["sizes"])
        if len(self.heard) == SENDERS * MESSAGES:
            self.complete.set()

    def close(self) -> None:
        self._loop.add_callback(self._loop.stop)
        self._thread.join(LIMIT)


def test_messages_from_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from panel.io.state import set_curdoc

    from dali_lab.studio.panel_editor import DaliLabEditor
    from dali_lab.studio.protocol.connections import SessionEvent

    session, page = Session(), Page(monkeypatch)
    try:
        with set_curdoc(page.document):
            editor = DaliLabEditor(session)
            page.document.add_root(editor.get_root(page.document))
        (port,) = session._ports

        def send(sender: int) -> None:
            for number in range(MESSAGES):
                told = SessionEvent("event", "tried", {"sender": sender, "number": number})
                port.send(told, [b"1", b"", b"23"])

        threads = [threading.Thread(target=send, args=(sender,)) for sender in range(SENDERS)]
        for thread in threads:
            thread.start()
        assert page.complete.wait(LIMIT), f"{len(page.heard)} of {SENDERS * MESSAGES} messages came"
    finally:
        page.close()
        session.close()
    for sender in range(SENDERS):
        numbers = [told["params"]["number"] for told in page.heard if told["params"]["sender"] == sender]
        assert numbers == list(range(MESSAGES))
    assert [told["number"] for told in page.heard] == list(range(SENDERS * MESSAGES))
    assert page.sizes == [[1, 0, 2]] * (SENDERS * MESSAGES)
    assert page.buffers == b"123" * (SENDERS * MESSAGES)
    assert page.askers == {page.thread}, "a document that holds its events loses what other threads ask of it"
