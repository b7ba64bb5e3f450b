"""Lost messages, and the numbers by which editors notice them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dali_lab.studio.preview import delivery
from dali_lab.studio.preview.computation import BatchComputation
from dali_lab.studio.protocol.connections import Notice
from dali_lab.studio.session import Session
from tests.programs import LIMIT
from tests.unit.studio.conftest import Client, document

Json = dict[str, Any]


class Wire(Client):
    """An editor whose connection can fail, and that keeps the numbers of what comes."""

    def __init__(self, session: Session) -> None:
        self.up = True
        self.numbers: list[int] = []
        super().__init__(session)

    def take(self, message: Json, buffers: list[bytes]) -> None:
        if not self.up:
            raise ConnectionError("down")
        self.numbers.append(message["number"])
        super().take(message, buffers)


@pytest.fixture
def session(folder: Path) -> Iterator[Session]:
    session = Session(document(folder))
    yield session
    session.close()


def test_who_could_not_be_reached_hears_all_again_when_it_asks(session: Session) -> None:
    wire = Wire(session)
    wire.call("hello", protocol=1)
    wire.call("ping")  # answered after all that a greeting brings
    before = len(wire.numbers)
    wire.up = False
    session.broadcast(Notice("info", "lost"))
    session.broadcast(Notice("info", "lost"))
    wire.up = True
    session.broadcast(Notice("info", "nobody is known to be there"))
    wire.call("ping")
    # It hears again, and can tell that three messages are missing.
    assert wire.numbers[:before] == list(range(before))
    assert wire.numbers[before] == before + 3
    assert wire.preview()[""]["status"] == "done"


def test_a_connection_that_was_closed_stays_so(session: Session) -> None:
    wire = Wire(session)
    wire.call("ping")
    session.detach(wire.port)
    before = len(wire.numbers)
    other = Client(session, "other")
    wire.send("ping")
    other.call("ping")
    assert len(wire.numbers) == before


def test_a_ping_tells_what_is_not_answered_yet(session: Session) -> None:
    editor = Client(session)
    others = Client(session, "others")
    begun, go = threading.Event(), threading.Event()
    session.jobs.put(lambda: (begun.set(), go.wait(LIMIT)))
    begun.wait(LIMIT)
    late = editor.send("sweep", node="decode", argument="output_type", values=["RGB", "GRAY"], run=7)
    editor.send("nothing that is known")
    assert editor.call("ping") == {"waiting": [late]}
    assert others.call("ping") == {"waiting": []}
    go.set()
    editor.response(late)
    assert editor.call("ping") == {"waiting": []}


def test_an_error_in_one_piece_of_work_does_not_end_the_others(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda given: reported.append(str(given.exc_value)))

    def fail(where: str) -> None:
        raise RuntimeError(where)

    session.jobs.put(lambda: fail("preview"))
    session.do(lambda: fail("request"))
    assert Client(session).preview()[""]["status"] == "done"
    assert sorted(reported) == ["preview", "request"]


def test_pictures_that_take_long_hold_up_no_other_node(
    folder: Path, open_session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(document(folder))
    go, rendered = threading.Event(), session.renderer.rendered

    def slow(result: Any, output: int, evaluation: Any, *rest: Any) -> Any:
        if result is evaluation.results.get("decode"):
            assert go.wait(LIMIT)
        return rendered(result, output, evaluation, *rest)

    monkeypatch.setattr(session.renderer, "rendered", slow)
    editor = Client(session)
    run = editor.start()
    assert editor.event("preview.node", timeout=LIMIT)["node"] == "reader"
    go.set()
    assert editor.finish(run)["decode"]["outputs"]


def test_the_last_node_comes_first(
    folder: Path, open_session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_TOGETHER", LIMIT)
    steps = {
        "flip": {"op": "flip", "inputs": ["decode"]},
        "again": {"op": "flip", "inputs": ["flip"]},
    }
    session = open_session(document(folder, **steps))
    editor = Client(session)
    editor.preview()  # from now on their kernels are known, and all are computed together
    decode = {**session.store.document["nodes"]["decode"], "arguments": {"output_type": "GRAY"}}
    editor.call("edit", changes={"nodes": {"decode": decode}})
    run = editor.start(focus=[{"node": "decode", "output": 0}])
    told = []
    while len(told) < 3:
        told.append(editor.event("preview.node", timeout=LIMIT)["node"])
    assert told == ["again", "decode", "flip"]
    assert editor.event("preview.focus", timeout=LIMIT)["images"]
    assert editor.finish(run)[""]["status"] == "done"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Holds up the computation of nodes named ``late`` until it is set."""
    go, compute = threading.Event(), BatchComputation.compute

    def held_up(computation: BatchComputation, keys: Any, *rest: Any) -> Any:
        assert "late" not in keys or go.wait(LIMIT)
        return compute(computation, keys, *rest)

    monkeypatch.setattr(BatchComputation, "compute", held_up)
    yield go
    go.set()


def test_pictures_in_focus_come_with_their_node(
    folder: Path, open_session: Callable[..., Session], held: threading.Event
) -> None:
    """Large pictures of the batch before would stand beside the names of this one while later nodes are computed."""
    session = open_session(document(folder, late={"op": "flip", "inputs": ["decode"]}))
    editor = Client(session)
    run = editor.start(focus=[{"node": "decode", "output": 0}])
    assert len(editor.event("preview.focus", timeout=LIMIT)["images"]) == 4
    held.set()
    assert editor.finish(run)["focus decode"]["unchanged"]


def test_a_node_that_has_not_changed_is_named_before_later_ones_are_computed(
    folder: Path, open_session: Callable[..., Session], held: threading.Event
) -> None:
    session = open_session(document(folder))
    editor = Client(session)
    editor.preview()
    editor.call("edit", changes={"nodes": {"late": {"op": "flip", "inputs": ["decode"]}}})
    run = editor.start()
    assert set(editor.event("preview.unchanged", timeout=LIMIT)["nodes"]) == {"reader", "decode"}
    held.set()
    assert editor.finish(run)["late"]["outputs"]


def test_pictures_in_focus_come_again_where_a_preview_ended_before_them(
    folder: Path, open_session: Callable[..., Session]
) -> None:
    """An editor has discarded those of the samples before once it hears of a node's new ones."""
    session = open_session(document(folder))
    editor, focus = Client(session), [{"node": "decode", "output": 0}]
    assert editor.preview(focus=focus)["focus decode"]["images"]
    assert editor.preview(iteration=1)["decode"]["outputs"]
    assert editor.preview(focus=focus)["focus decode"]["images"]
