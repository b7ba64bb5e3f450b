"""Previews: pictures at every node, only what changed, errors where they belong, and the seed that is shown."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import types
from dali_lab.formats.json import graph_file as json_file
from dali_lab.model.batch import Batch
from dali_lab.schema import Arg, Call, Input, Operator, register
from dali_lab.schema.registry import unregister
from dali_lab.studio.preview import computation, evaluation
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, Json, document, image

Open = Callable[..., Session]
FOR_EVER = 10_000.0
"""Seconds: longer than the limit for a test."""
FLIP: Json = {"op": "flip", "inputs": ["decode"], "arguments": {"horizontal": 1}}


@pytest.fixture
def slow() -> Iterator[type[Operator]]:
    """An operator that takes as long as it is told, and counts its samples."""

    class Slow(Operator):
        """Waits."""

        name = "test.slow"
        inputs = (Input("images", kind="image", layouts=None),)
        arguments = (Arg("seconds", "float", 0.0), Arg("tag", "int", 0))
        calls = 0
        started = threading.Event()

        def run(self, call: Call, images: Batch) -> Batch:
            type(self).calls += call.count
            type(self).started.set()
            ends = time.monotonic() + self.value("seconds")
            while time.monotonic() < ends and not call.cancelled():
                time.sleep(0.005)
            return images

    register(Slow)
    yield Slow
    unregister("test.slow")


def test_times_are_told_once_nothing_is_compiled(
    open_session: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While kernels are compiled in the background, slower code does their work, and its time is no cost."""
    detours, busy = itertools.count(), True
    monkeypatch.setattr(computation, "compilations", lambda: next(detours))
    monkeypatch.setattr(evaluation, "compiling", lambda: busy)
    client = Client(open_session(document(folder, flip=FLIP)))
    client.call("hello", protocol=1, client="client")
    assert client.preview()["flip"]["time_ms"] is None
    assert client.preview()["flip"] == {"unchanged": True, "time_ms": None}, "nothing is computed again meanwhile"
    monkeypatch.setattr(computation, "compilations", lambda: 0)
    busy = False
    again = client.preview()["flip"]
    assert again["unchanged"] and again["time_ms"] > 0
    assert client.preview()["flip"] == again


def test_every_node_shows_pictures(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP)))
    client.call("hello", protocol=1, client="client")
    result = client.preview(samples=4, thumb=48)
    assert result[""]["status"] == "done"
    for node in ("reader", "decode", "flip"):
        output = result[node]["outputs"][0]
        assert len(output["images"]) == 4
        assert max(output["images"][0]["width"], output["images"][0]["height"]) == 48
        assert output["files"] == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"]
        assert output["labels"] == ["cats"] * 4
    decoded = result["decode"]["outputs"][0]
    assert (decoded["kind"], decoded["dtype"], decoded["layout"], decoded["batch"]) == ("image", "UINT8", "HWC", 8)
    assert decoded["shapes"] == [[60 + 4 * index, 80, 3] for index in range(4)]
    assert sum(decoded["histogram"]) > 0
    assert result["reader"]["outputs"][1]["numbers"] == [[0], [0], [0], [0]]
    difference = np.abs(image(result["decode"])[:, ::-1].astype(int) - image(result["flip"]))
    assert difference.mean() < 4


def test_only_what_changed_is_computed_and_sent(open_session: Open, folder: Path, slow: Any) -> None:
    nodes = {"before": {"op": "test.slow", "inputs": ["decode"]}, "flip": {**FLIP, "inputs": ["before"]}}
    nodes["after"] = {"op": "test.slow", "inputs": ["flip"]}
    client = Client(open_session(document(folder, **nodes)))
    client.preview()
    slow.calls = 0
    again = client.preview()
    assert slow.calls == 0
    assert all(again[node]["unchanged"] for node in ("reader", "decode", "before", "flip", "after"))
    client.call("edit", base=1, changes={"nodes": {"flip": {**nodes["flip"], "arguments": {"vertical": 1}}}})
    changed = client.preview()
    assert slow.calls == 4
    assert changed["before"]["unchanged"]
    assert changed["flip"]["outputs"][0]["images"]
    assert not changed["flip"]["cached"]
    client.call("edit", base=2, changes={"nodes": {"flip": nodes["flip"]}})
    back = client.preview()
    assert slow.calls == 4
    assert back["flip"]["cached"]
    client.call("edit", base=3, changes={"view": {"nodes": {"flip": {"x": 5, "y": 9}}}})
    assert client.preview()["flip"]["unchanged"]


def test_renamed_node_keeps_its_results(open_session: Open, folder: Path, slow: Any) -> None:
    client = Client(open_session(document(folder, work={"op": "test.slow", "inputs": ["decode"]})))
    client.preview()
    slow.calls = 0
    changes = {"nodes": {"work": None, "other": {"op": "test.slow", "inputs": ["decode"]}}, "outputs": ["other"]}
    client.call("edit", base=1, changes=changes)
    assert client.preview()["other"]["cached"]
    assert slow.calls == 0


def test_fewer_samples_come_from_what_is_known(open_session: Open, folder: Path, slow: Any) -> None:
    client = Client(open_session(document(folder, work={"op": "test.slow", "inputs": ["decode"]})))
    assert len(client.preview(samples=8)["work"]["outputs"][0]["images"]) == 8
    slow.calls = 0
    assert len(client.preview(samples=3)["work"]["outputs"][0]["images"]) == 3
    assert slow.calls == 0


def test_another_client_gets_everything(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder, flip=FLIP))
    one, two = Client(session, "one"), Client(session, "two")
    one.preview()
    result = two.preview()
    assert result["flip"]["outputs"][0]["images"]
    assert result["flip"]["cached"]
    assert one.preview()["flip"]["unchanged"]


def test_reconnecting_client_gets_everything(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder)))
    client.preview()
    client.call("hello", protocol=1, client="client")
    assert "outputs" in client.preview()["decode"]


def test_file_that_changes_on_disk_is_read_again(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder)))
    before = image(client.preview()["decode"])
    first, second = folder / "cats" / "0.jpg", folder / "dogs" / "7.jpg"
    first.write_bytes(second.read_bytes())
    os.utime(first, ns=(1, 1))
    after = client.preview()
    assert after["decode"]["outputs"][0]["shapes"][0] == [88, 80, 3]
    assert image(after["decode"]).shape != before.shape


def test_focus_is_large_and_sent_once(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder)))
    focus = [{"node": "decode", "output": 0}]
    result = client.preview(thumb=32, focus=focus, focus_size=512)["focus decode"]
    assert len(result["images"]) == 4
    assert image(result).shape[:2] == (60, 80)
    assert client.preview(thumb=32, focus=focus, focus_size=512)["focus decode"]["unchanged"]


def test_preview_equals_what_a_pipeline_gives(open_session: Open, folder: Path) -> None:
    """The seed that is shown is the one in use: batches of the preview are those of a real run."""
    nodes: Json = {
        "angle": {"op": "random.uniform", "arguments": {"range": [-40.0, 40.0]}},
        "loose": {"op": "random.uniform", "arguments": {"range": [0.0, 1.0]}},
        "rotate": {"op": "rotate", "inputs": ["decode"], "connections": {"angle": "angle"}},
    }
    content = document(folder, **nodes)
    content["outputs"] = ["rotate", "angle"]
    session = open_session(content)
    client = Client(session)
    pipeline = dali_lab.Pipeline.from_graph(json_file.from_document(content))
    try:
        for iteration in (0, 1, 2):
            rotated, angles = pipeline.run()
            result = client.preview(iteration=iteration, samples=3)
            assert result[""]["seed"] == 42
            numbers = [row[0] for row in result["angle"]["outputs"][0]["numbers"]]
            np.testing.assert_array_equal(np.float32(numbers), [float(angles.at(i)) for i in range(3)])
            assert result["rotate"]["outputs"][0]["shapes"] == [list(rotated.at(i).shape) for i in range(3)]
        back = client.preview(iteration=0, samples=3)
        assert back["angle"]["cached"]
    finally:
        pipeline.close()


def test_seed_is_drawn_once_and_shown(open_session: Open, folder: Path) -> None:
    content = document(folder, angle={"op": "random.uniform", "arguments": {"range": [0.0, 1.0]}})
    content["pipeline"]["seed"] = None
    client = Client(open_session(content))
    seed = client.call("hello", protocol=1, client="client")["seed"]
    first = client.preview()
    assert first[""]["seed"] == seed
    assert client.preview()["angle"]["unchanged"]
    client.call("edit", base=1, changes={"pipeline": {"set": {"seed": 7}}})
    assert client.event("state", where=lambda params: "seed" in params)["seed"] == 7
    assert client.preview()[""]["seed"] == 7


def test_long_work_shows_progress_and_can_be_cancelled(open_session: Open, folder: Path, slow: Any) -> None:
    work = {"op": "test.slow", "inputs": ["decode"], "arguments": {"seconds": FOR_EVER}}
    client = Client(open_session(document(folder, work=work)))
    run = client.start()
    progress = client.event("preview.progress", where=lambda params: params["node"] == "work")
    assert progress["run"] == run
    assert progress["node"] == "work"
    assert progress["done"] < progress["total"]
    client.call("cancel", run=run)
    assert client.finish(run)[""]["status"] == "cancelled"


def test_latest_preview_wins(open_session: Open, folder: Path, slow: Any) -> None:
    work = {"op": "test.slow", "inputs": ["decode"], "arguments": {"seconds": FOR_EVER}}
    client = Client(open_session(document(folder, work=work)))
    first = client.start()
    assert slow.started.wait(300)
    client.send("edit", base=1, changes={"nodes": {"work": {**work, "arguments": {"seconds": 0.0}}}})
    second = client.start()
    assert client.finish(first)[""]["status"] == "superseded"
    assert client.finish(second)[""]["status"] == "done"


def test_preview_sees_the_edit_before_it(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP)))
    client.preview()
    for vertical in (1, 0, 1):
        client.send(
            "edit", base=1, changes={"nodes": {"flip": {**FLIP, "arguments": {"horizontal": 0, "vertical": vertical}}}}
        )
        result = client.preview()
        expected = image(client_preview_of(client, "decode"))
        expected = expected[::-1] if vertical else expected
        assert np.abs(expected.astype(int) - image(result["flip"])).mean() < 4


def client_preview_of(client: Client, node: str) -> Json:
    """A node's pictures, asked for anew by another editor."""
    return Client(client.session, f"other{time.monotonic_ns()}").preview()[node]


def test_closed_tab_in_mid_run_stops_its_work(open_session: Open, folder: Path, slow: Any) -> None:
    work = {"op": "test.slow", "inputs": ["decode"], "arguments": {"seconds": FOR_EVER}}
    session = open_session(document(folder, work=work))
    leaving, staying = Client(session, "leaving"), Client(session, "staying")
    leaving.start()
    assert slow.started.wait(300)
    session.detach(leaving.port)
    staying.call("edit", base=1, changes={"nodes": {"work": None}, "outputs": ["decode"]})
    assert staying.preview()[""]["status"] == "done", "what the closed tab asked for takes longer than this test may"


def test_port_that_fails_is_dropped(open_session: Open, folder: Path) -> None:
    session = open_session(document(folder))

    def broken(message: Json, buffers: list[bytes]) -> None:
        raise ConnectionError("gone")

    port = session.attach(broken)
    session.receive(port, {"kind": "request", "id": "broken-1", "method": "preview", "params": {"run": 1}})
    assert Client(session).preview()[""]["status"] == "done"
    assert not port.open


def test_bypass_passes_the_first_input_on(open_session: Open, folder: Path) -> None:
    client = Client(open_session(document(folder, flip=FLIP, twice={**FLIP, "inputs": ["flip"]})))
    client.preview()
    client.call("edit", base=1, changes={"view": {"nodes": {"flip": {"bypass": True}}}})
    result = client.preview()
    assert "flip" not in result
    other = client_preview_of(client, "decode")
    assert np.abs(image(other)[:, ::-1].astype(int) - image(result["twice"])).mean() < 4
    client.call("edit", base=2, changes={"view": {"nodes": {"flip": None, "reader": {"bypass": True}}}})
    result = client.preview()
    assert "bypassed" in result["decode"]["skipped"]["message"]


def test_disabled_nodes_and_what_needs_them_are_off(open_session: Open, folder: Path) -> None:
    start = document(folder, flip=FLIP, twice={**FLIP, "inputs": ["flip"]})
    client = Client(open_session({**start, "outputs": ["decode", "twice"]}))
    client.preview()
    client.call("edit", base=1, changes={"view": {"nodes": {"flip": {"disabled": True}}}})
    result = client.preview()
    assert result["flip"]["skipped"] == {"message": "Disabled.", "node": "flip", "off": True}
    assert result["twice"]["skipped"] == {"message": "Off: 'flip' is disabled.", "node": "flip", "off": True}
    assert not result["flip"]["outputs"] and not result["twice"]["outputs"]
    said = "Output 2 (twice) is left out: 'flip' is disabled."
    (problem,) = client.call("validate")["problems"]
    assert (problem["severity"], problem["node"], problem["message"]) == ("warning", "flip", said)
    exported = client.call("export", to="python")
    assert exported["warnings"] == [said]
    assert "return images" in exported["text"] or "return decode" in exported["text"]
    client.call("run", run=900, batches=1)
    assert client.event("run.done")["missing"] == [said]
    client.call("edit", base=2, changes={"outputs": ["twice"]})
    refused = client.error("export", to="python")["message"]
    assert refused == f"No output is left. {said.replace('2', '1')}"
    client.call("edit", base=3, changes={"view": {"nodes": {"flip": {}}}})
    assert client.preview()["twice"]["outputs"]


def test_float_and_planar_pictures_are_shown(open_session: Open, folder: Path) -> None:
    normalize = {
        "op": "crop_mirror_normalize", "inputs": ["decode"],
        "arguments": {"dtype": "FLOAT", "output_layout": "CHW", "mean": [110.0], "std": [60.0], "crop": [48, 48]},
    }  # fmt: skip
    client = Client(open_session(document(folder, normalize=normalize)))
    output = client.preview()["normalize"]["outputs"][0]
    assert (output["kind"], output["layout"], output["dtype"]) == ("image", "CHW", types.FLOAT.name)
    assert output["images"][0]["width"] == output["images"][0]["height"] == 48
    assert output["range"][0] < 0 < output["range"][1]


def test_a_folder_without_rights_is_an_error_of_its_reader(
    open_session: Open, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if os.fspath(path) == str(locked):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read every folder
    client = Client(open_session(document(locked, flip=FLIP)))
    client.call("hello", protocol=1, client="client")
    result = client.preview(samples=4, thumb=48)
    assert "you have no permission to read it" in result["reader"]["error"]["message"]
    assert result[""]["status"] == "done"


def test_masks_lie_over_the_picture_that_is_moved_with_them(open_session: Open, folder: Path, tmp_path: Path) -> None:
    for index in range(8):
        mask = np.zeros((60 + 4 * index, 80), np.uint8)
        mask[10:30, 20:50] = 1 + index
        (tmp_path / "masks").mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / "masks" / f"{index}.png"), mask)
    flip = {"op": "flip", "connections": {"horizontal": "coin"}}
    content = document(
        folder,
        mask_reader={"op": "readers.file", "arguments": {"file_root": str(tmp_path), "file_filters": ["*.png"]}},
        mask={"op": "decoders.image", "inputs": ["mask_reader"], "arguments": {"output_type": "GRAY"}},
        coin={"op": "random.coin_flip"},
        moved={**flip, "inputs": ["decode"]},
        moved_mask={**flip, "inputs": ["mask"]},
    )
    focus = [{"node": name, "output": 0} for name in ("moved", "decode", "moved_mask")]
    told = Client(open_session(content)).preview(focus=focus)
    (overlay,) = told["focus moved"]["overlays"]
    assert overlay["kind"] == "mask"
    assert overlay["node"] == "moved_mask"
    assert all(overlay["images"])
    assert not told["focus decode"].get("overlays")
    assert not told["focus moved_mask"].get("overlays")
    assert told["mask"]["outputs"][0]["kind"] == "mask"
    assert told["decode"]["outputs"][0]["kind"] == "image"
