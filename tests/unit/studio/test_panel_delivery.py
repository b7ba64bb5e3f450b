"""What the session says reaches the page: all of it, in order, from whatever thread it comes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from dali_lab.studio.panel_app import AppServer
from dali_lab.studio.session import Session

SENDERS, MESSAGES = 4, 100


@pytest.fixture
def server() -> Iterator[AppServer]:
    session = Session()
    server = AppServer(session, port=0)
    yield server
    server.close()
    session.close()


def said(frame: Any) -> dict[str, Any] | None:
    """What a frame of Bokeh's protocol carries of ours."""
    if not isinstance(frame, str) or '"esm_event"' not in frame:
        return None
    (event,) = json.loads(frame)["events"]
    data = dict(event["msg_data"]["values"]["entries"])["data"]
    message: dict[str, Any] = json.loads(dict(data["entries"])["message"])
    return message


def test_messages_from_many_threads(server: AppServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[int] = set()
    ask = Document.add_next_tick_callback

    def noted(document: Document, callback: Any) -> Any:
        asked.add(threading.get_ident())
        return ask(document, callback)

    def send(sender: int) -> None:
        (port,) = server.session._ports
        for number in range(MESSAGES):
            port.send({"kind": "event", "event": "tried", "params": {"sender": sender, "number": number}}, [b"1"])

    async def listen() -> list[tuple[int, int]]:
        address = server.address.replace("http", "ws") + "ws"
        token = generate_jwt_token(generate_session_id())
        page = await websocket_connect(HTTPRequest(address), subprotocols=["bokeh", token])
        while '"ACK"' not in str(await page.read_message()):
            pass
        monkeypatch.setattr(Document, "add_next_tick_callback", noted)
        threads = [threading.Thread(target=send, args=(sender,)) for sender in range(SENDERS)]
        for thread in threads:
            thread.start()
        heard: list[tuple[int, int]] = []
        while len(heard) < SENDERS * MESSAGES:
            message = said(await asyncio.wait_for(page.read_message(), 60))
            if message is not None and message.get("event") == "tried":
                heard.append((message["params"]["sender"], message["params"]["number"]))
        page.close()
        return heard

    heard = asyncio.run(listen())
    for sender in range(SENDERS):
        assert [number for who, number in heard if who == sender] == list(range(MESSAGES))
    assert asked <= {server._thread.ident}, "a document that holds its events loses what other threads ask of it"
