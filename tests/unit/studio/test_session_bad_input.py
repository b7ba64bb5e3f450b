"""Bad input: a clear message at the node or field it belongs to, the rest keeps working, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.schema.samples import picture
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, Json, document

Open = Callable[..., Session]
FLIP: Json = {"op": "flip", "inputs": ["decode"], "arguments": {"horizontal": 1}}


def test_missing_folder(open_session: Open, tmp_path: Path) -> None:
    client = Client(open_session(document(tmp_path / "nowhere", flip=FLIP)))
    result = client.preview()
    assert result[""]["status"] == "done"
    assert "nowhere" in result["reader"]["error"]["message"]
    assert result["decode"]["skipped"]["node"] == "reader"
    assert result["flip"]["skipped"]["node"] == "reader"


def test_missing_folder_that_appears(open_session: Open, folder: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "later"
    client = Client(open_session(document(wanted)))
    assert "error" in client.preview()["reader"]
    folder.rename(wanted)
    assert client.preview()["decode"]["outputs"]


def test_empty_folder(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    client = Client(open_session(document(tmp_path / "empty")))
    result = client.preview()
    assert "empty" in str(result["reader"]["error"])
    assert "skipped" in result["decode"]


def test_no_folder_given(open_session: Open) -> None:
    content = document("")
    content["nodes"]["reader"]["arguments"] = {}
    client = Client(open_session(content))
    skipped = client.preview()["reader"]["skipped"]
    assert skipped["message"].startswith("``file_root`` argument is required when")


@pytest.mark.parametrize("content", [b"this is no picture", b"", "truncated"], ids=["text", "empty", "truncated"])
def test_one_bad_file_fails_alone(open_session: Open, folder: Path, content: bytes | str) -> None:
    bad = folder / "cats" / "1.jpg"
    if isinstance(content, str):
        noise = np.random.default_rng(1).integers(0, 255, (200, 200, 3), np.uint8)
        data = cv2.imencode(".png", noise)[1].tobytes()
        content = data[: len(data) // 8]
    bad.write_bytes(content)
    client = Client(open_session(document(folder, flip=FLIP)))
    result = client.preview(samples=4)
    assert result[""]["status"] == "done"
    failed = next(result[node] for node in ("reader", "decode") if "error" in result[node])
    assert failed["error"]["sample"] == 1
    assert failed["error"]["file"].endswith("1.jpg")
    images = result["flip"]["outputs"][0]["images"]
    assert [entry is None for entry in images] == [False, True, False, False]
    assert "error" not in result["flip"]
    bad.write_bytes((folder / "cats" / "0.jpg").read_bytes())
    mended = client.preview(samples=4)
    assert "error" not in mended["decode"]
    assert all(mended["flip"]["outputs"][0]["images"])


def test_unreadable_file(open_session: Open, folder: Path) -> None:
    bad = folder / "cats" / "2.jpg"
    bad.unlink()
    bad.symlink_to(folder / "nowhere.jpg")
    client = Client(open_session(document(folder)))
    result = client.preview()
    assert (
        any("error" in result[node] for node in ("reader", "decode"))
        or len(result["decode"]["outputs"][0]["images"]) == 4
    )


def test_unusual_pictures(open_session: Open, tmp_path: Path) -> None:
    """Grey, 16-bit, with alpha, and one pixel: shown like any other."""
    folder = tmp_path / "unusual" / "all"
    folder.mkdir(parents=True)
    cv2.imwrite(str(folder / "a.png"), picture(40, 50, 1)[..., 0])
    cv2.imwrite(str(folder / "b.png"), picture(40, 50, 3, np.uint16))
    cv2.imwrite(str(folder / "c.png"), picture(40, 50, 4))
    cv2.imwrite(str(folder / "d.png"), picture(1, 1, 3))
    client = Client(open_session(document(folder.parent, flip=FLIP)))
    result = client.preview()
    assert all(result["flip"]["outputs"][0]["images"])
    assert result["flip"]["outputs"][0]["shapes"] == [[40, 50, 3], [40, 50, 3], [40, 50, 3], [1, 1, 3]]


def test_pictures_from_print_shops_and_telephones(open_session: Open, tmp_path: Path) -> None:
    from PIL import Image

    folder = tmp_path / "odd" / "class"
    folder.mkdir(parents=True)
    pixels = Image.fromarray(picture(40, 60))
    pixels.convert("CMYK").save(folder / "0.jpg")
    turned = Image.Exif()
    turned[0x0112] = 6
    pixels.save(folder / "1.jpg", exif=turned)
    pixels.convert("L").save(folder / "2.jpg")
    cv2.imwrite(str(folder / "3.png"), picture(40, 60, dtype=np.uint16))
    result = Client(open_session(document(tmp_path / "odd", flip=FLIP))).preview(samples=4)
    assert "error" not in result["decode"]
    assert result["decode"]["outputs"][0]["shapes"] == [[40, 60, 3], [60, 40, 3], [40, 60, 3], [40, 60, 3]]
    assert all(result["flip"]["outputs"][0]["images"])


def test_unfinished_graph(open_session: Open, folder: Path) -> None:
    client = Client(
        open_session(document(folder, flip={"op": "flip", "inputs": [None]}, crop={"op": "crop", "inputs": ["flip"]}))
    )
    result = client.preview()
    assert result["decode"]["outputs"]
    assert "Connect" in result["flip"]["skipped"]["message"]
    assert result["crop"]["skipped"]["node"] == "flip"
    problems = client.call("validate")["problems"]
    assert [(problem["node"], problem["input"], problem["severity"]) for problem in problems] == [
        ("flip", 0, "warning")
    ]


def test_cyclic_graph(open_session: Open, folder: Path) -> None:
    nodes = {
        "a": {"op": "flip", "inputs": ["c"]},
        "b": {"op": "flip", "inputs": ["a"]},
        "c": {"op": "flip", "inputs": ["b"]},
    }
    client = Client(open_session(document(folder, **nodes, d={"op": "flip", "inputs": ["c"]})))
    result = client.preview()
    assert result["decode"]["outputs"]
    assert all("error" in result[node] for node in ("a", "b", "c"))
    assert result["d"]["skipped"]["node"] == "c"
    assert any("circle" in problem["message"] for problem in client.call("validate")["problems"])


def test_unknown_operator_and_argument(open_session: Open, folder: Path) -> None:
    nodes = {"odd": {"op": "flipp", "inputs": ["decode"]}, "flip": {**FLIP, "arguments": {"horizontl": 1}}}
    client = Client(open_session(document(folder, **nodes)))
    result = client.preview()
    assert "'flip'" in result["odd"]["error"]["message"]
    assert result["flip"]["error"]["argument"] == "horizontl"
    assert "horizontal" in result["flip"]["error"]["message"]
    assert result["decode"]["outputs"]


def test_value_out_of_range_and_of_wrong_type(open_session: Open, folder: Path) -> None:
    nodes = {
        "blur": {"op": "erase", "inputs": ["decode"], "arguments": {"anchor": "left"}},
        "size": {"op": "resize", "inputs": ["decode"], "arguments": {"interp_type": "INTERP_MAGIC"}},
    }
    client = Client(open_session(document(folder, **nodes)))
    result = client.preview()
    assert result["blur"]["error"]["argument"] == "anchor"
    assert result["size"]["error"]["argument"] == "interp_type"
    assert result["decode"]["outputs"]


def test_edge_to_an_output_that_is_not_there(open_session: Open, folder: Path) -> None:
    client = Client(
        open_session(document(folder, flip={**FLIP, "inputs": ["decode:3"]}, lost={**FLIP, "inputs": ["nobody"]}))
    )
    result = client.preview()
    assert "1 output" in result["flip"]["error"]["message"]
    assert "nobody" in result["lost"]["error"]["message"]


def test_changes_that_make_no_sense_are_refused(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))
    client = Client(session)
    before = session.store.document
    for changes in (
        None,
        [],
        {"nodes": []},
        {"nodes": {"a": 1}},
        {"nodes": {"a:b": {"op": "flip"}}},
        {"outputs": "x"},
        {"view": 3},
    ):
        assert client.error("edit", base=1, changes=changes)["message"]
    assert session.store.document is before
    assert client.preview()["decode"]["outputs"]


def test_requests_that_make_no_sense_are_answered(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))
    client = Client(session)
    assert client.error("dance")["code"] == "unknown_method"
    assert client.error("preview", run="x")["code"] == "failed"
    assert client.error("export", to="stone")["code"] == "not_found"
    assert client.error("open")["message"]
    session.receive(client.port, "nonsense")
    session.receive(client.port, {"kind": "request"})
    session.receive(client.port, {"kind": "request", "id": "client-900", "method": "ping", "params": 7})
    assert client.response("client-900")["result"] == {"waiting": []}


def test_deep_values_are_refused(open_session: Open, folder: Path) -> None:
    """They would end every later check of the document."""
    client = Client(open_session(document(folder)))
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    change = {"nodes": {"flip": {"op": "flip", "inputs": ["decode"], "arguments": {"horizontal": deep}}}}
    assert "in each other" in client.error("edit", changes=change)["message"]
    text = json.dumps({**document(folder), "pipeline": {"seed": deep}})
    assert client.error("open", text=text)["code"] == "unreadable"
    assert client.preview()["decode"]["outputs"]


def test_two_tabs_share_a_document(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))
    one, two = Client(session, "one"), Client(session, "two")
    one.call("hello", protocol=1, client="one")
    two.call("hello", protocol=1, client="two")
    one.call("edit", base=1, changes={"nodes": {"flip": FLIP}})
    changed = two.event("changed")
    assert changed["client"] == "one"
    assert changed["changes"]["nodes"]["flip"]["op"] == "flip"
    two.call("edit", base=changed["revision"], changes={"nodes": {"other": FLIP}})
    assert one.event("changed")["client"] == "two"
    assert set(session.store.document["nodes"]) == {"reader", "decode", "flip", "other"}
    assert two.event("state", where=lambda params: "dirty" in params)["dirty"]


def test_read_only(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder), read_only=True))
    assert client.call("hello", protocol=1, client="client")["read_only"]
    assert client.error("edit", base=1, changes={"nodes": {"flip": FLIP}})["code"] == "read_only"
    assert client.preview()["decode"]["outputs"]
