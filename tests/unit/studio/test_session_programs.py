"""Programs in the editor: listed and read without running them, traced after consent, and taken away as files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab.formats import loads
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.others import LIBRARIES
from dali_lab.studio.session import Session
from tests.programs import LIMIT
from tests.unit.studio.conftest import Client, document

Open = Callable[..., Session]

PROGRAM = '''
from nvidia.dali import Pipeline, fn, pipeline_def

open({mark!r}, "w").close()

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def plain(folder="/pictures"):
    """Reads files."""
    data, label = fn.readers.file(file_root=folder)
    return data, label

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def looped(times, *, seed=3, helper=print):
    images = fn.external_source(name="images")
    for _ in range(times):
        images = fn.flip(images)
    return images

class Old(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, folder, size=3):
        super().__init__(batch_size, num_threads, device_id)

    def define_graph(self):
        return fn.external_source(name="old")
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.py"
    path.write_text(PROGRAM.format(mark=str(tmp_path / "it ran")))
    return path


def agreed(client: Client, **program: Any) -> str:
    """The number with which a program is run, as a person gets it who agrees to it."""
    return client.error("trace", run=0, **program)["consent"]["number"]


def test_pipelines_are_listed_and_nothing_runs(open_session: Open, program: Path, tmp_path: Path) -> None:
    client = Client(open_session())
    listed = client.call("list_pipelines", path="theirs.py")
    assert listed == {**client.call("list_pipelines", text=program.read_text(), name="theirs.py"), "path": str(program)}
    plain, looped, old = listed["pipelines"]
    assert plain == {
        "name": "plain",
        "style": "function",
        "line": 7,
        "summary": "Reads files.",
        "arguments": [{"name": "folder", "required": False, "default": "'/pictures'"}],
        "runs": False,
    }
    assert looped["runs"] is True
    assert "'for'" in looped["reason"] or "no default" in looped["reason"]
    assert looped["arguments"] == [
        {"name": "times", "required": True},
        {"name": "seed", "required": False, "default": "3"},
        {"name": "helper", "required": False},
    ]
    assert old["style"] == "class"
    assert [entry["name"] for entry in old["arguments"] if entry["required"]] == ["folder"]
    error = client.error("open", path="theirs.py")
    assert (error["code"], error["pipelines"]) == ("choose", listed["pipelines"])
    error = client.error("open", path="theirs.py", pipeline="looped")
    assert (error["code"], error["pipelines"]) == ("needs_running", listed["pipelines"])
    assert client.error("open", path="theirs.py", pipeline="none")["code"] == "not_found"
    opened = client.call("open", path="theirs.py", pipeline="plain")
    assert list(opened["document"]["nodes"]) == ["data"]
    assert opened["title"] == "theirs"
    assert not (tmp_path / "it ran").exists()


def test_a_program_is_traced_after_consent(open_session: Open, program: Path, tmp_path: Path) -> None:
    session = open_session()
    client, other = Client(session, "one"), Client(session, "other")
    asked = {"path": "theirs.py", "pipeline": "looped", "arguments": {"times": 2}}
    assert client.error("trace", run=1, **asked)["code"] == "consent"
    assert not (tmp_path / "it ran").exists()
    opened = client.call("trace", run=3, consent=agreed(client, **asked), **asked)
    assert (tmp_path / "it ran").exists()
    assert [node["op"] for node in opened["document"]["nodes"].values()] == ["external_source", "flip", "flip"]
    assert opened["file"] is None
    assert other.event("document")["document"] == opened["document"]
    given = {"text": program.read_text(), "pipeline": "Old", "arguments": {"folder": 1}}
    pasted = client.call("trace", run=4, consent=agreed(client, **given), **given)
    assert list(pasted["document"]["nodes"]) == ["old"]


def test_tracing_fails_with_the_line_and_leaves_the_document(open_session: Open, program: Path) -> None:
    client = Client(open_session(document("nowhere")))
    before = client.call("hello", protocol=1)["document"]

    def failed(**program: Any) -> Any:
        return client.error("trace", run=1, consent=agreed(client, **program), **program)

    error = failed(path="theirs.py", pipeline="looped", arguments={"times": "x"})
    assert (error["code"], error["line"]) == ("failed", "line 15")
    text = "import os\nprint('I was here')\nos._exit(7)\nfrom dali_lab import *\n@pipeline_def\ndef p(): pass\n"
    assert "status 7" in failed(text=text)["message"]
    assert client.error("trace", run=3, text="x = (")["code"] == "failed"
    assert failed(text=text, timeout=10_000)["code"] == "failed"
    assert client.error("trace", run=4, path="missing.py")["code"] == "not_found"
    assert client.error("trace", run=6, text=text, arguments=[1])["code"] == "failed"
    assert client.error("list_pipelines", text="x = (")["code"] == "unreadable"
    for text, told in (("def (:\n", "line 1"), ("", "no pipeline"), ("1\n", "no pipeline")):
        program.with_name("broken.py").write_text(text)
        assert told in client.error("open", path="broken.py")["message"]
    assert client.call("hello", protocol=1)["document"] == before


def test_an_endless_program_is_cancelled_while_others_are_answered(open_session: Open, tmp_path: Path) -> None:
    mark = tmp_path / "it runs"
    text = f"open({str(mark)!r}, 'w').close()\nwhile True: pass\n@pipeline_def\ndef p(): pass\n"
    client = Client(open_session())
    waiting = client.send("trace", run=9, consent=agreed(client, text=text), text=text)
    end = time.monotonic() + LIMIT
    while not mark.exists() and time.monotonic() < end:
        assert client.call("ping") == {"waiting": [waiting]}
        time.sleep(0.05)
    client.call("cancel", run=9)
    assert client.response(waiting)["error"]["code"] == "cancelled"


def test_files_to_take_away(open_session: Open, folder: Path) -> None:
    flip: Any = {"op": "flip", "inputs": ["decode"], "arguments": {"vertical": 1}}
    client = Client(open_session(document(folder, flip=flip), title="my cats"))
    capabilities = client.call("hello", protocol=1)["capabilities"]
    files = ["dali-serialized", "svg", "pdf", "png", "report"]
    assert [entry["to"] for entry in capabilities["export_files"]] == files
    assert not {entry["to"] for entry in capabilities["export"]} & {"svg", "png", "pdf", "dali-serialized"}
    asked = client.send("export", to="dali-serialized")
    result = client.response(asked)["result"]
    (content,) = client.buffers(asked)
    assert (result["filename"], result["buffer"], result["size"]) == ("my_cats.dali", 0, len(content))
    assert list(dali_proto.loads(content).nodes) == ["reader", "decode", "flip"]
    asked = client.send("export", to="svg")
    assert client.response(asked)["result"]["mime"] == "image/svg+xml"
    assert client.buffers(asked)[0].startswith(b"<svg")
    asked = client.send("export", to="png")
    response = client.response(asked)
    if "error" in response:
        assert "Graphviz" in response["error"]["message"]
    else:
        assert list(loads(client.buffers(asked)[0]).nodes) == ["reader", "decode", "flip"]
    for entry in capabilities["export"]:
        message = client.response(client.send("export", to=entry["to"]))
        assert "result" in message or entry["to"] in LIBRARIES, message
