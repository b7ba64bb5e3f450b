"""Files: save and open again, changes on disk, recovery of unsaved work, exports and folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dali_lab.cli.app import _end as end
from dali_lab.model.system import start_of
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.store import Sample
from dali_lab.studio.hosts.application import start_session
from dali_lab.studio.session import Session
from tests.programs import LIMIT
from tests.unit.studio.conftest import Client, Json, document

Open = Callable[..., Session]
FLIP: Json = {"op": "flip", "inputs": ["decode"], "arguments": {"horizontal": 1}}


def test_save_and_open_again(open_session: Open, folder: Path, tmp_path: Path) -> None:
    content = document(folder, odd={"op": "no.such", "inputs": [None, "decode"], "custom": {"kept": [1, 2]}}, flip=FLIP)
    content["view"]["nodes"]["flip"] = {"x": 10, "y": -4.5, "title": "größer"}
    content["extra"] = "kept"
    client = Client(open_session(content))
    client.call("edit", base=1, changes={"nodes": {"twice": FLIP}})
    saved = client.call("save", path="mine")
    assert saved == {
        "file": {"path": str(tmp_path / "mine.dali.json"), "name": "mine.dali.json"},
        "title": "mine",
        "dirty": False,
    }
    other = Client(open_session())
    opened = other.call("open", path=str(tmp_path / "mine.dali.json"))
    assert opened["document"] == {**content, "nodes": {**content["nodes"], "twice": FLIP}}
    assert opened["title"] == "mine"
    assert not opened["dirty"]
    assert list(opened["document"]["nodes"]) == ["reader", "decode", "odd", "flip", "twice"]


def test_places_of_the_first_layout_leave_a_document_saved(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))
    client = Client(session)
    client.call("edit", base=1, changes={"view": {"nodes": {"decode": {"x": 5, "y": 5}}}}, placed=True)
    assert not session.store.dirty and session.store.document["view"]["nodes"]["decode"] == {"x": 5, "y": 5}
    client.call("edit", base=2, changes={"nodes": {"flip": FLIP}}, placed=True)
    assert session.store.dirty


def test_save_asks_before_it_overwrites(open_session: Open, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.dali.json"
    other.write_text("precious")
    client = Client(open_session(document(folder)))
    assert client.error("save")["code"] == "not_found"
    assert client.error("save", path=str(other))["code"] == "exists"
    assert other.read_text() == "precious"
    client.call("save", path=str(other), overwrite=True)
    client.call("edit", base=1, changes={"nodes": {"flip": FLIP}})
    client.call("save")
    text = other.read_text()
    other.write_text(text + " ")
    client.call("edit", base=2, changes={"nodes": {"flip": None}})
    assert client.error("save")["code"] == "stale"
    assert other.read_text() == text + " "
    client.call("save", overwrite=True)
    assert "flip" not in json.loads(other.read_text())["nodes"]


def test_save_where_it_cannot(open_session: Open, folder: Path, tmp_path: Path) -> None:
    session = open_session(document(folder))
    client = Client(session)
    client.call("edit", base=1, changes={"nodes": {"flip": FLIP}})
    assert client.error("save", path=str(tmp_path / "no" / "such" / "a.json"))["message"]
    (tmp_path / "folder.json").mkdir()
    assert "folder" in client.error("save", path="folder.json", overwrite=True)["message"]
    assert client.error("save", path="\0")["message"]
    assert session.store.dirty


def test_files_that_cannot_be_opened_leave_the_document(open_session: Open, folder: Path, tmp_path: Path) -> None:
    session = open_session(document(folder))
    client = Client(session)
    whole = json.dumps(document(folder))
    cases = {
        "": "unreadable",
        whole[: len(whole) // 2]: "unreadable",
        "not json": "unreadable",
        "[1, 2]": "unreadable",
        json.dumps({"format": "other", "nodes": {}}): "unreadable",
        json.dumps({**document(folder), "version": 99}): "newer_version",
        json.dumps({**document(folder), "nodes": {"a": {"inputs": 3}}}): "unreadable",
        json.dumps({**document(folder), "nodes": {"a:b": {"op": "flip"}}}): "unreadable",
        json.dumps({**document(folder), "nodes": {"a" * 1001: {"op": "flip"}}}): "unreadable",
    }
    before = session.store.document
    for index, (text, code) in enumerate(cases.items()):
        path = tmp_path / f"bad{index}.dali.json"
        path.write_text(text)
        error = client.error("open", path=str(path))
        assert error["code"] == code, (text[:40], error)
    assert client.error("open", path=str(tmp_path / "missing.json"))["code"] == "not_found"
    assert client.error("open", path=str(folder))["code"] == "unreadable"
    (tmp_path / "binary.dali.json").write_bytes(bytes(range(256)))
    assert client.error("open", path="binary.dali.json")["code"] == "unreadable"
    assert session.store.document is before


def test_opening_tells_the_other_tabs(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))
    one, two = Client(session, "one"), Client(session, "two")
    two.preview()
    one.call("new")
    assert two.event("document")["document"]["nodes"] == {}
    one.call("open", text=json.dumps(document(folder)), name="dropped.dali.json")
    opened = two.event("document")
    assert opened["title"] == "dropped"
    assert opened["dirty"]
    assert two.preview()["decode"]["outputs"]


def test_samples_by_name(open_session: Open, folder: Path) -> None:
    sample = Sample("pictures", "Pictures", "Some pictures.", lambda: document(folder))
    client = Client(open_session(samples=[sample]))
    hello = client.call("hello", protocol=1, client="client")
    assert hello["capabilities"]["samples"] == [{"name": "pictures", "title": "Pictures", "summary": "Some pictures."}]
    assert client.call("open", sample="pictures")["title"] == "Pictures"
    assert client.error("open", sample="others")["code"] == "not_found"


def test_restore_takes_over_what_the_client_kept(open_session: Open, folder: Path) -> None:
    client = Client(open_session())
    hello = client.call("restore", document=document(folder, flip=FLIP), dirty=True)
    assert hello["dirty"]
    assert hello["document"]["nodes"]["flip"] == FLIP
    assert client.preview()["flip"]["outputs"]


def troubled(params: Json) -> list[str | None]:
    """The nodes of the problems that matter."""
    return [problem.get("node") for problem in params["problems"] if problem["severity"] != "info"]


def test_problems_are_told_whenever_there_is_another_document(open_session: Open, folder: Path) -> None:
    session = open_session()
    client = Client(session)
    broken = document(folder, flip={**FLIP, "inputs": []})
    client.call("restore", document=broken)
    client.event("problems", where=lambda params: troubled(params) == ["flip"])
    session.replace(document(folder, flip=FLIP))
    client.event("problems", where=lambda params: troubled(params) == [])
    session.replace(broken)
    client.event("problems", where=lambda params: troubled(params) == ["flip"])


def test_unsaved_work_outlives_the_process(folder: Path, tmp_path: Path) -> None:
    """A process that is killed leaves its document to the next one."""
    program = f"""
import os, sys
sys.path.insert(0, {os.getcwd()!r})
from pathlib import Path
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.session import Session
session = Session(recovery=Recovery(Path({str(tmp_path / "kept")!r})))
port = session.attach(lambda message, buffers: None)
changes = {{"nodes": {{"mine": {{"op": "flip"}}}}}}
edit = {{"kind": "request", "id": "a-1", "method": "edit", "params": {{"changes": changes}}}}
session.receive(port, edit)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        ends = time.monotonic() + LIMIT
        while not list((tmp_path / "kept").glob("*.json")):
            assert time.monotonic() < ends and process.poll() is None
            time.sleep(0.05)
        recovery = Recovery(tmp_path / "kept")
        assert recovery.take() is None, "the process is still alive"
        process.kill()
        if start_of(os.getpid()) is not None:
            # Its parent has not asked how it ended, so that its id is still taken, as one is by another process later.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.communicate()
        found = recovery.take()
    finally:
        process.kill()
        process.communicate()
    assert found is not None
    assert list(found[0]["nodes"]) == ["mine"]
    assert "recovered" not in found[0]
    assert recovery.path.exists(), "it stays on disk until it is saved"
    assert recovery.take() is None


def test_recovery_goes_when_saved(open_session: Open, folder: Path, tmp_path: Path) -> None:
    recovery = Recovery(tmp_path / "kept")
    session = open_session(document(folder), recovery=recovery)
    client = Client(session)
    client.call("edit", base=1, changes={"nodes": {"flip": FLIP}})
    session.close()
    assert recovery.path.exists()
    again = open_session(document(folder), recovery=recovery)
    client = Client(again)
    client.call("edit", base=1, changes={"nodes": {"flip": FLIP}})
    client.call("save", path="a.json")
    assert not recovery.path.exists()


def test_a_second_graph_that_was_not_saved_comes_back_beside_the_first(
    open_session: Open, folder: Path, tmp_path: Path
) -> None:
    session = open_session(document(folder), recovery=Recovery(tmp_path / "kept"))
    for each, name in ((session, "first"), (session.beside(), "second")):
        Client(each).call("edit", base=1, changes={"nodes": {name: FLIP}})
    session.close()
    again = Recovery(tmp_path / "kept")
    first = again.take()
    assert first is not None and "first" in first[0]["nodes"]
    again.forget()
    session = open_session(first[0], recovery=again)
    second = session.beside().store
    assert "second" in second.document["nodes"] and second.dirty
    session.close()
    alone = Recovery(tmp_path / "kept").take()
    assert alone is not None and "second" in alone[0]["nodes"], "alone it comes in the place of the first"


def test_unsaved_work_of_a_file_comes_back_with_that_file(open_session: Open, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "a.dali.json"
    session = open_session(document(folder), recovery=Recovery(tmp_path / "kept"))
    client = Client(session)
    client.call("save", path=str(place))
    client.call("edit", base=1, changes={"nodes": {"mine": FLIP}})
    session.close()
    kept = Recovery(tmp_path / "kept")
    assert kept.take(tmp_path / "b.dali.json") is None
    with closing(start_session(str(place), recovery=kept)) as again:
        assert "mine" in again.store.document["nodes"] and again.store.dirty
        assert again.store.file == place and again.notices
    os.utime(place, (time.time() + 5, time.time() + 5))
    with closing(start_session(str(place), recovery=Recovery(tmp_path / "kept"))) as newer:
        assert "mine" not in newer.store.document["nodes"]


def test_unsaved_work_that_cannot_be_kept_is_told(
    open_session: Open, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    session = open_session(document(folder), recovery=Recovery(tmp_path / "file" / "kept"))
    client = Client(session)
    client.call("edit", base=1, changes={"nodes": {"mine": FLIP}})
    notice = client.event("notice")
    assert notice["level"] == "warning"
    assert f"{tmp_path / 'file' / 'kept'} cannot be written" in notice["message"]
    end(session)
    assert f"What was not saved is lost: {tmp_path / 'file' / 'kept'}" in capsys.readouterr().out


def test_damaged_recovery_files_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    for index, text in enumerate(["", "{", "[]", '{"recovered": 3}', '{"recovered": {"process": "x"}}']):
        (folder / f"{index}.dali.json").write_text(text)
    assert Recovery(folder).take() is None


def test_list_files(open_session: Open, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "graph.dali.json").write_text("{}")
    for other in ("a.json", "notes.txt", "report.html", "served.pb", "train.py"):
        (tmp_path / other).write_text("")
    (tmp_path / ".hidden").mkdir()
    client = Client(open_session(root=tmp_path))
    listed = client.call("list_files", kinds=["graph"])
    assert listed["path"] == str(tmp_path)
    assert listed["parent"] == str(tmp_path.parent)
    assert listed["entries"][0] == {"name": "pictures", "path": str(folder), "kind": "folder", "images": 8}
    graphs = ["graph.dali.json", "report.html", "served.pb", "train.py"]
    assert [(entry["name"], entry["kind"]) for entry in listed["entries"][1:]] == [(name, "graph") for name in graphs]
    inner = client.call("list_files", path="pictures/cats", kinds=["image"])
    assert [entry["kind"] for entry in inner["entries"]] == ["image"] * 4
    assert client.error("list_files", path="nowhere")["code"] == "not_found"
    client.session.store.permissions.roots.allow("/")
    assert client.call("list_files", path="/")["parent"] is None


def test_python_goes_out_and_comes_back(open_session: Open, folder: Path, tmp_path: Path) -> None:
    session = open_session(document(folder, flip={**FLIP, "arguments": {"vertical": 1}}), title="cats")
    client = Client(session)
    exported = client.call("export", to="python")
    assert exported["filename"] == "cats.py"
    (tmp_path / "cats.py").write_text(exported["text"])
    opened = client.call("open", path="cats.py")
    assert opened["document"]["nodes"]["flip"]["arguments"] == {"vertical": 1}
    assert opened["file"] is None, "saving must not write over the program"
    assert client.preview()["flip"]["outputs"]
    assert client.call("open", text=exported["text"])["document"]["nodes"].keys() == opened["document"]["nodes"].keys()
    assert client.error("open", text="import os; os.abort()")["code"] == "unreadable"


def test_export_json_and_dot(open_session: Open, folder: Path) -> None:
    content = document(folder, flip=FLIP, lonely={"op": "crop"})
    content["outputs"] = ["flip"]
    client = Client(open_session(content, title="my cats/dogs"))
    exported = client.call("export", to="json")
    assert json.loads(exported["text"]) == content
    assert exported["filename"] == "my_cats_dogs.dali.json"
    dot = client.call("export", to="dot")
    assert "digraph" in dot["text"]
    assert any("lonely" in warning for warning in dot["warnings"])


def test_a_report_has_pictures_and_opens_as_the_graph(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP), title="cats"))
    request = client.send("export", to="report")
    assert client.response(request)["result"]["filename"] == "cats.html"
    (page,) = client.buffers(request)
    assert page.count(b"<img") == 24  # eight samples of reader, decoder and flip
    before = client.session.store.document["nodes"]
    assert client.call("open", text=page.decode(), name="cats.html")["document"]["nodes"].keys() == before.keys()


def test_run_says_how_fast(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP)))
    assert client.call("run", run=50, batches=5) == {"run": 50}
    done = client.event("run.done")
    assert (done["status"], done["batches"], done["samples"]) == ("done", 5, 40)
    assert done["images_per_second"] > 0
    assert set(done["nodes"]) == {"reader", "decode", "flip"}


def test_run_can_be_cancelled_and_fails_clearly(open_session: Open, folder: Path, tmp_path: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP)))
    client.call("run", run=51, batches=100_000)
    assert client.error("run", run=52, batches=1)["code"] == "busy"
    client.event("run.progress")
    client.call("cancel", run=51)
    assert client.event("run.done")["status"] == "cancelled"
    client.call("edit", base=1, changes={"outputs": []})
    client.call("run", run=53, batches=1)
    done = client.event("run.done")
    assert done["status"] == "done", "as exports do, a run takes the last nodes"
    assert "flip" in done["missing"][0]
    nodes = client.session.store.document["nodes"]
    client.call("edit", base=2, changes={"nodes": dict.fromkeys(nodes)})
    client.call("run", run=54, batches=1)
    failed = client.event("run.done")
    assert failed["status"] == "failed"
    assert "no nodes" in failed["error"]["message"]


def test_sweep_and_compare(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP)))
    request = client.send("sweep", run=60, node="flip", argument="vertical", values=[0, 1, "x"], sample=1, thumb=64)
    swept = client.response(request)["result"]
    assert [entry is None for entry in swept["images"]] == [False, False, True]
    assert swept["errors"][:2] == [None, None]
    assert swept["errors"][2]
    pictures = client.buffers(request)
    assert pictures[0] != pictures[1]
    other = document(folder, flip={**FLIP, "arguments": {"horizontal": 0}})
    request = client.send(
        "compare", run=61, document=other, nodes=[{"node": "flip", "output": 0}], samples=2, size=64, iteration=0
    )
    compared = client.response(request)["result"]["results"]
    assert len(compared[0]["images"]) == 2
    assert client.error("sweep", run=62, node="nobody", argument="x", values=[1])["code"] == "not_found"


def test_a_sweep_of_numbers_shows_the_pictures_that_they_steer(open_session: Open, folder: Path) -> None:
    draw = {"op": "random.uniform", "arguments": {"range": [0.0, 1.0]}}
    bright = {"op": "brightness", "inputs": ["decode"], "connections": {"brightness": "draw"}}
    client = Client(open_session(document(folder, draw=draw, bright=bright)))
    request = client.send(
        "sweep", run=60, node="draw", argument="range", values=[[0.1, 0.2], [0.8, 0.9], [1.0, 0.5]], shown="bright"
    )
    swept = client.response(request)["result"]
    assert [entry is None for entry in swept["images"]] == [False, False, True]
    assert "range" in swept["errors"][2]
    dark, light, *_ = client.buffers(request)
    assert dark != light


def test_a_check_leads_to_the_samples(open_session: Open, folder: Path) -> None:
    pictures = sorted(folder.rglob("*.jpg"))
    pictures[1].write_bytes(b"no picture")
    content = document(folder, flip=FLIP)
    content["nodes"]["reader"]["arguments"]["random_shuffle"] = True
    client = Client(open_session(content))
    assert client.call("check", run=70) == {"run": 70}
    done = client.event("check.done")
    assert (done["status"], done["samples"]) == ("done", len(pictures))
    (kind,) = [kind for kind in done["kinds"] if kind["severity"] == "error"]
    (finding,) = kind["findings"]
    assert (kind["kind"], kind["count"], finding["reader"]) == ("damaged", 1, "reader")
    assert finding["sample"] in done["exclude"].splitlines()
    nodes = client.preview(iteration=finding["iteration"], samples=8)
    assert nodes["decode"]["error"]["sample"] == finding["index"], nodes["decode"]["error"]
    client.call("edit", base=1, changes={"nodes": {"reader": None}, "outputs": []})
    client.call("check", run=71)
    assert client.event("check.done")["status"] == "failed"


def test_placeholders_of_the_gallery_become_samples(open_session: Open, tmp_path: Path) -> None:
    content = document("$photographs/food")
    client = Client(open_session())
    (tmp_path / "graph.dali.json").write_text(json.dumps(content))
    for asked in ({"text": json.dumps(content)}, {"path": "graph.dali.json"}):
        opened = client.call("open", **asked)
        root = Path(opened["document"]["nodes"]["reader"]["arguments"]["file_root"])
        assert (root / "coffee.jpg").is_file()


def test_opening_can_be_cancelled_as_long_as_the_document_before_is_there(open_session: Open, folder: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow() -> Json:
        begun.set()
        assert go.wait(LIMIT)
        return document(folder, flip=FLIP)

    client = Client(open_session(samples=[Sample("slow", "Slow", "", slow)]))
    before = client.call("hello", protocol=1)["document"]
    # One is being read, another waits behind it.
    waiting = [client.send("open", sample="slow", run=1), client.send("open", sample="slow", run=2)]
    assert begun.wait(LIMIT)
    for run in (1, 2):
        client.call("cancel", run=run)
    go.set()
    assert [client.response(each)["error"]["code"] for each in waiting] == ["cancelled", "cancelled"]
    assert client.call("hello", protocol=1)["document"] == before
    assert client.call("open", sample="slow", run=3)["title"] == "Slow"
