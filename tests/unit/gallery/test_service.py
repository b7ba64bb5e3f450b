"""The gallery's requests to a session."""

from __future__ import annotations

import itertools
import json
import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery import built_in_folder, load_entry
from dali_lab.gallery.making import new_entry
from dali_lab.graph.verification import verify
from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.session import Session

Json = dict[str, Any]
Ask = Callable[..., tuple[Json, list[bytes]]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a gallery of its own, in which most is wrong."""
    root = tmp_path_factory.mktemp("project")
    own = root / "gallery"
    brightness = load_entry(built_in_folder() / "brightness")
    for name in ("mine", "hue", "cut-off", "unknown-operator", "no-pictures", "later"):
        new_entry(brightness.graph, own, name=name)
    (own / "cut-off" / "graph.dali.json").write_text('{"format": "dali-lab/graph", ')
    graph = own / "unknown-operator" / "graph.dali.json"
    graph.write_text(graph.read_text().replace('"op": "brightness"', '"op": "brihgtness"'))
    graph = own / "no-pictures" / "graph.dali.json"
    graph.write_text(graph.read_text().replace("$photographs", "/nowhere/at/all"))
    entry = own / "later" / "entry.json"
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"waiting": "better pictures"}))
    return root


@pytest.fixture(scope="module")
def ask(project: Path) -> Iterator[Ask]:
    """Asks a session and waits for the answer."""
    session = Session(root=project, permissions=Permissions(Roots(["/"])))
    answers: queue.Queue[tuple[Json, list[bytes]]] = queue.Queue()
    port = session.attach(lambda message, buffers: answers.put((message, buffers)))

    numbers = itertools.count()

    def request(method: str, **params: Any) -> tuple[Json, list[bytes]]:
        asked = f"t-{next(numbers)}"
        session.receive(port, {"kind": "request", "id": asked, "method": method, "params": params})
        while True:
            # Only a failure takes so long: operators that are met for the first time are compiled.
            message, buffers = answers.get(timeout=300)
            if message["kind"] == "response" and message["id"] == asked:
                return message, buffers

    yield request
    session.close()


def pixels(reference: Json, buffers: list[bytes]) -> Any:
    data = np.frombuffer(buffers[reference["buffer"]], np.uint8)
    found = cv2.imdecode(data, cv2.IMREAD_COLOR)
    assert found is not None
    assert found.shape[:2] == (reference["height"], reference["width"])
    return found.astype(int)


def test_a_project_s_own_entries_stand_beside_the_others_and_broken_ones_say_why(ask: Ask) -> None:
    found = ask("gallery.list")[0]["result"]
    entries = {entry["name"]: entry for entry in found["entries"]}
    assert len(entries) >= 100
    assert entries["mine"]["own"] and not entries["hue"]["own"]
    problems = {entry["name"]: entry["problem"] for entry in found["broken"]}
    assert set(problems) == {"hue", "cut-off", "unknown-operator"}
    assert "taken" in problems["hue"]
    assert "too early" in problems["cut-off"]
    assert "brihgtness" in problems["unknown-operator"]
    names = {family["name"] for family in found["families"]}
    assert {entry["family"] for entry in found["entries"]} == names


def test_tiles_come_at_once_where_they_are_and_are_made_where_they_lack(ask: Ask) -> None:
    names = [entry["name"] for entry in ask("gallery.list")[0]["result"]["entries"]]
    began = time.process_time()
    message, buffers = ask("gallery.tiles", names=names, cached=True)
    seconds = time.process_time() - began
    result = message["result"]
    assert set(result["missing"]) <= {"mine", "no-pictures"}
    assert len(result["tiles"]) >= len(names) - 3
    assert seconds < 10
    for tile in list(result["tiles"].values())[:12]:
        assert pixels(tile["after"], buffers).std() > 3
    message, buffers = ask("gallery.tiles", names=["mine", "no-pictures", "none-such"])
    tiles = message["result"]["tiles"]
    before, after = (pixels(tiles["mine"][half], buffers) for half in ("before", "after"))
    assert after.mean() > before.mean() + 10
    assert "/nowhere/at/all" in tiles["no-pictures"]["problem"]
    assert "none-such" in tiles["none-such"]["problem"]


def test_an_entry_s_page(ask: Ask) -> None:
    page = ask("gallery.entry", name="brightness")[0]["result"]
    (control,) = (one for one in page["controls"] if one["name"] == "brightness")
    assert (control["kind"], control["value"]) == ("number", 1.5)
    assert control["minimum"] < 1.5 < control["maximum"]
    assert page["fragment"] == ["brightness"] and page["before"] == "photo"
    assert not page["random"]
    assert "fn.brightness(photo, brightness=1.5)" in page["code"]
    assert {"brightness", "resize"} <= {operator["name"] for operator in page["reference"]}
    verify(json_file.from_document(page["document"]))
    random = ask("gallery.entry", name="hsv")[0]["result"]
    assert random["random"]
    assert [one["label"] for one in random["controls"]] == ["hue", "saturation", "value"]
    assert {one["kind"] for one in random["controls"]} == {"range"}
    json.dumps(page, allow_nan=False)


def test_controls_of_one_entry_have_labels_of_their_own(ask: Ask) -> None:
    page = ask("gallery.entry", name="recipe-randaugment")[0]["result"]
    labels = [control["label"] for control in page["controls"]]
    assert len(set(labels)) == len(labels)
    assert "warp affine 2: fill value" in labels
    assert "keep size" in labels


def test_a_control_changes_the_picture_and_a_wrong_value_says_so(ask: Ask) -> None:
    values = [0.5, 2.0, -1.0, "much"]
    variants = [{"overrides": {"brightness": {"brightness": value}}} for value in values]
    message, buffers = ask("gallery.draw", name="brightness", variants=variants, samples=2, size=96)
    dark, bright, *wrong = message["result"]["variants"]
    assert len(dark["after"][0]["images"]) == 2
    shown = [pixels(one["after"][0]["images"][0], buffers).mean() for one in (dark, bright)]
    assert shown[0] < pixels(dark["before"]["images"][0], buffers).mean() < shown[1]
    assert wrong[1]["problem"]["argument"] == "brightness" and "float" in wrong[1]["problem"]["message"]
    nowhere = ask("gallery.draw", name="brightness", variants=[{"overrides": {"none": {"a": 1}}}])[0]
    assert "none" in nowhere["result"]["variants"][0]["problem"]["message"]


def test_draws_differ_by_seed_on_the_same_picture(ask: Ask) -> None:
    variants = [{"seed": seed} for seed in (1, 2, 3, 1)]
    message, buffers = ask("gallery.draw", name="hsv", variants=variants, size=96)
    one, two, three, again = (
        pixels(variant["after"][0]["images"][0], buffers) for variant in message["result"]["variants"]
    )
    assert one.shape == two.shape == three.shape
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two) and not np.array_equal(two, three)
    other, others = ask("gallery.draw", name="hsv", variants=[{"seed": 1}], first=1, size=96)
    moved = pixels(other["result"]["variants"][0]["after"][0]["images"][0], others)
    assert moved.shape != one.shape or not np.array_equal(moved, one)


def test_boxes_points_and_masks_move_with_the_picture(ask: Ask) -> None:
    def overlay(name: str, **given: Any) -> tuple[Json, Json]:
        message, _ = ask("gallery.draw", name=name, variants=[given], size=96)
        variant = message["result"]["variants"][0]
        return variant["before"]["overlays"][0], variant["after"][0]["overlays"][0]

    always = {"overrides": {"coin": {"probability": 1.0}}}
    before, after = overlay("recipe-detection-flip", **always)
    for box, flipped in zip(before["boxes"], after["boxes"], strict=True):
        assert flipped == pytest.approx([1 - box[2], box[1], 1 - box[0], box[3]], abs=1e-4)
    still = {"overrides": {"angle": {"range": [0.0, 1e-4]}, "offset": {"range": [8.0, 8.001]}}}
    before, after = overlay("recipe-keypoints", **still)
    moved = np.array(after["points"]) - np.array(before["points"])
    assert moved == pytest.approx(np.full(moved.shape, 8 / 448), abs=1e-4)
    before, after = overlay("recipe-segmentation")
    assert before["mask"]["mime"] == after["mask"]["mime"] == "image/png"


def test_other_pictures(ask: Ask, pictures: Path, tmp_path: Path) -> None:
    chosen = ask("gallery.pictures", pictures=str(pictures))[0]["result"]
    assert chosen == {"folder": str(pictures), "own": True, "count": 6}
    own, buffers = ask("gallery.draw", name="invert", pictures=str(pictures), size=96)
    theirs, others = ask("gallery.draw", name="invert", size=96)
    shown = [
        pixels(answer["result"]["variants"][0]["before"]["images"][0], found)
        for answer, found in ((own, buffers), (theirs, others))
    ]
    assert shown[0].shape != shown[1].shape or not np.array_equal(*shown)
    assert str(pictures) in ask("gallery.entry", name="invert", pictures=str(pictures))[0]["result"]["code"]
    assert "no pictures" in ask("gallery.pictures", pictures=str(tmp_path))[0]["error"]["message"]
    assert "no folder" in ask("gallery.pictures", pictures="/nowhere")[0]["error"]["message"]


def test_code_under_the_settings_of_the_controls(ask: Ask) -> None:
    overrides = {"brightness": {"brightness": 0.25}}
    found = ask("gallery.code", name="brightness", overrides=overrides)[0]["result"]
    assert "brightness=0.25" in found["code"]
    assert found["document"]["nodes"]["brightness"]["arguments"]["brightness"] == 0.25


def test_cost(ask: Ask) -> None:
    found = ask("gallery.cost", name="brightness")[0]["result"]
    assert found["images_per_second"] > 0
    assert found["decoding_images_per_second"] > 0
    assert ask("gallery.cost", name="volume-flip")[0]["result"]["decoding_images_per_second"] is None


@pytest.mark.parametrize("seed", range(6))
def test_a_surprise_runs_and_is_the_same_for_the_same_seed(ask: Ask, seed: int) -> None:
    first, again = (ask("gallery.surprise", seed=seed)[0]["result"] for _ in range(2))
    assert first == again
    assert 2 <= len(first["steps"]) <= 4
    verify(json_file.from_document(first["document"]))
    answer, buffers = ask("gallery.draw", graph=first["graph"], before_edge=first["before"], size=96)
    (variant,) = answer["result"]["variants"]
    assert pixels(variant["after"][0]["images"][0], buffers).std() > 3


def test_what_makes_no_sense_is_refused(ask: Ask) -> None:
    for method, params, said in (
        ("gallery.entry", {"name": "none-such"}, "none-such"),
        ("gallery.entry", {"name": "cut-off"}, "broken"),
        ("gallery.draw", {"name": "later"}, "cannot run yet"),
        ("gallery.draw", {"graph": {"nodes": 3}}, ""),
        ("gallery.nothing", {}, "gallery.nothing"),
        ("gallery.draw", {"name": "hue", "variants": "many"}, ""),
    ):
        assert said in ask(method, **params)[0]["error"]["message"]
    assert "result" in ask("gallery.entry", name="hue")[0]


def test_opening_an_entry_by_its_name(ask: Ask) -> None:
    opened = ask("open", gallery="rotate")[0]["result"]
    assert opened["title"] == "Rotation by a random angle"
    assert "$photographs" not in json.dumps(opened["document"])
    assert ask("open", gallery="none-such")[0]["error"]["code"] == "not_found"


ANNOTATED = ("ssd-crop", "detection-flip", "detection-zoom-out", "keypoints", "segmentation")


@pytest.mark.parametrize("name", [f"recipe-{name}" for name in ANNOTATED])
def test_recipes_with_annotations_take_ones_own_pictures(ask: Ask, pictures: Path, name: str) -> None:
    answer, _ = ask("gallery.entry", name=name, pictures=str(pictures))
    assert answer["result"]["pictures"] and answer["result"]["annotated"]
    graph = json_file.from_document(answer["result"]["document"])
    verify(graph)
    (reader,) = [node for node in graph.nodes.values() if node.arguments.get("file_root") == str(pictures)]
    assert reader.arguments["files"][0].endswith(".jpg")
    drawn, buffers = ask("gallery.draw", name=name, pictures=str(pictures), first=2, variants=[{"seed": 4}], size=64)
    assert drawn["result"]["photographs"] == 6 and buffers
    view = drawn["result"]["variants"][0]
    assert len(view["after"][0]["images"]) == 1 and "problem" not in view, view
    assert view["after"][0]["overlays"][0]


def test_the_samples_with_annotations_come_in_the_order_that_is_asked_for(ask: Ask) -> None:
    seen = []
    for first in (0, 1, 4):
        drawn, buffers = ask("gallery.draw", name="recipe-detection-flip", first=first, variants=[{"seed": 4}], size=64)
        assert drawn["result"]["photographs"] == 4
        seen.append(bytes(buffers[0]))
    assert seen[0] == seen[2] != seen[1]
