"""Consent to run code is the session's: numbers that it did not give out for exactly this code run nothing."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab.studio.document import programs
from dali_lab.studio.protocol.documents import TraceRequest
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document

Open = Callable[..., Session]

PROGRAM = """
from dali_lab import fn, pipeline_def
open({mark!r}, "w").close()

@pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
def looped(times=2):
    images = fn.external_source(name="images")
    for _ in range(times):
        images = fn.flip(images)
    if fn.random.coin_flip():
        images = images + 1
    return images
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that the program makes."""
    return tmp_path / "it ran"


@pytest.fixture
def program(tmp_path: Path, mark: Path) -> Path:
    path = tmp_path / "theirs.py"
    path.write_text(PROGRAM.format(mark=str(mark)))
    return path


@pytest.fixture
def client(open_session: Open) -> Client:
    return Client(open_session())


def question(client: Client, **program: Any) -> dict[str, str]:
    """The text of a program and the number, from the refusal of a request without one."""
    error = client.error("trace", run=1, **program)
    assert error["code"] == "consent"
    return error["consent"]


def refused(client: Client, number: object, **program: Any) -> str:
    """The words of the refusal of a request with this number."""
    error = client.error("trace", run=2, consent=number, **program)
    assert error["code"] == "consent"
    assert error["consent"]["number"] != number, "the next question has another number"
    return error["message"]


def test_the_question_has_the_text_and_a_number_for_one_run(client: Client, program: Path, mark: Path) -> None:
    asked = question(client, path=str(program))
    assert asked["text"] == program.read_text()
    assert not mark.exists()
    opened = client.call("trace", run=3, path=str(program), consent=asked["number"])
    assert "images" in opened["document"]["nodes"]
    mark.unlink()
    assert "used before" in refused(client, asked["number"], path=str(program))
    assert not mark.exists()


@pytest.mark.parametrize("number", [True, False, 0, 1, "", "yes", "0" * 32, [], ["x"], {}, {"number": 1}], ids=repr)
def test_a_number_that_is_made_up_runs_nothing(
    client: Client, program: Path, mark: Path, number: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "dali_lab.app"):
        question(client, path=str(program))
        assert not caplog.records, "asking is no attack"
        assert "did not give this consent out" in refused(client, number, path=str(program))
    assert [record.message for record in caplog.records] == [
        f"refused to run {program}: the session did not give this consent out, or it was used before"
    ]
    assert not mark.exists()


def test_a_number_of_another_connection_runs_nothing(
    open_session: Open, client: Client, program: Path, mark: Path
) -> None:
    asked = question(client, path=str(program))
    for other in (Client(client.session, "client"), Client(open_session(), "client")):
        refused(other, asked["number"], path=str(program))
    assert not mark.exists()
    client.call("trace", run=3, path=str(program), consent=asked["number"])


def test_a_number_for_another_program_runs_nothing(client: Client, program: Path, mark: Path) -> None:
    text = program.read_text()
    (program.parent / "copy").mkdir()
    (program.parent / "copy" / "theirs.py").write_text(text)
    for asked, other in (
        ({"text": text + " "}, {"text": text}),
        ({"text": text}, {"path": str(program)}),
        ({"path": str(program)}, {"path": "copy/theirs.py"}),
    ):
        number = question(client, **asked)["number"]
        assert "has changed" in refused(client, number, **other)
        assert "used before" in refused(client, number, **asked), "it was used up"
    assert not mark.exists()


def test_a_program_that_changed_since_it_was_shown_is_shown_again(client: Client, program: Path, mark: Path) -> None:
    number = question(client, path=str(program))["number"]
    program.write_text(program.read_text().replace("it ran", "it ran again"))
    error = client.error("trace", run=2, path=str(program), consent=number)
    assert "has changed" in error["message"]
    assert error["consent"]["text"] == program.read_text()
    assert not mark.exists()
    client.call("trace", run=3, path=str(program), consent=error["consent"]["number"])
    assert (mark.parent / "it ran again").exists()


def test_a_program_that_changes_after_the_question_runs_as_it_was_shown(program: Path, mark: Path) -> None:
    read = programs.Program.of_file(program, program.parent)
    changed = mark.parent / "changed"
    other = PROGRAM.replace("range(times)", "range(times + 5)").replace("images + 1", "images - 1")
    program.write_text(other.format(mark=str(changed)))
    found = programs.traced(read, TraceRequest(1), programs.Cancellation())
    assert mark.exists() and not changed.exists()
    operators = [node["op"] for node in found["nodes"].values()]
    assert operators.count("flip") == 2
    assert "math.add" in operators, "branches are read from the text, too"


@pytest.mark.parametrize("text", ["-----BEGIN KEY-----\nsecret", "secret = 1\n"])
def test_the_question_shows_programs_alone(client: Client, tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    error = client.error("trace", run=1, path="key")
    assert error["code"] == "failed" and "consent" not in error
    assert "secret" not in str(error)


def test_numbers_go_out_of_date(client: Client, program: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dali_lab.studio.consent.SECONDS", -1.0)
    number = question(client, path=str(program))["number"]
    assert "too old" in refused(client, number, path=str(program))
    assert not mark.exists()


def test_a_connection_has_few_numbers_and_few_lines_in_the_log(
    client: Client, program: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = program.read_text()
    first = question(client, text=text)["number"]
    with caplog.at_level(logging.WARNING, "dali_lab.app"):
        for index in range(120):
            refused(client, str(index), text=text, name="forged\nWARNING:root:\x1b[31m line")
        refused(client, first, text=text)
    assert len(caplog.records) == 100
    assert not any(set(record.message) & set("\n\x1b") for record in caplog.records)


def test_functions_that_a_document_names_are_not_imported(
    open_session: Open, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_functions.py").write_text("def turn(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    python = {"op": "python_function", "inputs": ["decode"]}
    python["arguments"] = {"function": {"$python": "their_functions:turn"}}
    client = Client(open_session())
    client.call("open", text=json.dumps(document(folder, python=python)))
    client.preview()
    client.send("run", run=50, batches=1)
    client.event("run.done")
    assert "their_functions" not in sys.modules
