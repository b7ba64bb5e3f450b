"""The COCO reader: objects, shapes and order of NVIDIA DALI, files that both write, errors that name the culprit."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn, ops
from dali_lab.formats import dumps, loads
from dali_lab.kernels.cpu import background
from dali_lab.operators.readers.coco.json_file import CocoFile, Wanted
from dali_lab.operators.readers.coco.run_lengths import as_runs
from tests.unit.readers.both_engines import goes_on_in_the_other
from tests.unit.readers.coco_data import HEIGHT, WIDTH, annotations, write
from tests.unit.readers.reading import assert_same, make, take

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402, F401

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BOTH = {"here": dali_lab, "there": dali}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write(tmp_path_factory.mktemp("coco"), annotations())


def agree(arguments: dict[str, Any], batches: int = 7) -> None:
    mine, other = (make(engine, "readers.coco", arguments) for engine in BOTH.values())
    assert mine.reader_meta() == other.reader_meta() and mine.epoch_size() == other.epoch_size()
    assert_same(take(mine, batches), take(other, batches))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ltrb": True, "ratio": True, "image_ids": True, "random_shuffle": True, "initial_fill": 3},
        {"polygon_masks": True, "include_iscrowd": False, "shuffle_after_epoch": True},
        {"polygon_masks": True, "include_iscrowd": False, "ratio": True, "num_shards": 2, "pad_last_batch": True},
        {"masks": True, "include_iscrowd": False, "save_img_ids": True, "skip_empty": True},
        {"pixelwise_masks": True, "image_ids": True},
        {"pixelwise_masks": True, "ratio": True, "random_shuffle": True, "shard_id": 1, "num_shards": 3},
        {"pixelwise_masks": True, "include_iscrowd": False, "avoid_class_remapping": True, "stick_to_shard": True},
        {"size_threshold": 9.5, "skip_empty": True, "avoid_class_remapping": True},
        {"images": ["3.jpg", "0.jpg", "no.jpg", "3.jpg", "8.jpg"], "shuffle_after_epoch": True},
    ],
    ids=str,
)
def test_objects_and_order_of_dali(data: dict[str, str], arguments: dict[str, Any]) -> None:
    agree({**data, **arguments})


def test_masks_are_the_same_before_kernels_are_compiled(data: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "ready", lambda *arguments: False)
    agree({**data, "pixelwise_masks": True}, batches=2)


@pytest.mark.parametrize("first", BOTH)
@pytest.mark.parametrize("kind", ["polygon_masks", "pixelwise_masks"])
def test_saved_annotations_go_both_ways(tmp_path: Path, data: dict[str, str], first: str, kind: str) -> None:
    saving = {"save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": str(tmp_path)}
    options = {kind: True, "image_ids": True}
    changes = {"ltrb": True, "skip_empty": True, "include_iscrowd": kind == "pixelwise_masks"}
    pipeline = make(BOTH[first], "readers.coco", {**data, **options, **saving, **changes})
    expected = take(pipeline, 3)
    again = {"file_root": data["file_root"], "preprocessed_annotations": str(tmp_path), **options}
    for engine in BOTH.values():
        assert_same(take(make(engine, "readers.coco", again), 3), expected)


def test_saved_files_that_do_not_do(tmp_path: Path, data: dict[str, str]) -> None:
    saving = {"save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": str(tmp_path)}
    make(dali_lab, "readers.coco", {**data, **saving})
    again = {"file_root": data["file_root"], "preprocessed_annotations": str(tmp_path)}
    with pytest.raises(dali_lab.DaliLabError, match=r"polygon_offset\.dat"):
        make(dali_lab, "readers.coco", {**again, "polygon_masks": True})
    (tmp_path / "boxes.dat").write_bytes((tmp_path / "boxes.dat").read_bytes()[:-3])
    with pytest.raises(dali_lab.DaliLabError, match=r"boxes\.dat"):
        make(dali_lab, "readers.coco", again)


@pytest.mark.parametrize("reader", [{}, {"random_shuffle": True, "initial_fill": 4}, {"shuffle_after_epoch": True}])
def test_checkpoints_go_both_ways(data: dict[str, str], reader: dict[str, Any]) -> None:
    goes_on_in_the_other("readers.coco", named=False, **data, **reader)


def test_old_names_and_serialized_pipelines(data: dict[str, str]) -> None:
    arguments = {**data, "ratio": True, "polygon_masks": True, "image_ids": True, "include_iscrowd": False}
    expected = take(make(dali, "readers.coco", arguments), 3)
    assert_same(take(make(dali_lab, "coco_reader", arguments), 3), expected)
    pipeline = dali_lab.Pipeline(4, 2, None, seed=5)
    reader = ops.COCOReader(name="Reader", **arguments)
    with pipeline:
        results = reader()
        pipeline.set_outputs(*results, fn.get_property(results[0], key="source_info"))
    graph = pipeline.graph
    for form in ("json", "dali-serialized", "python"):
        assert loads(dumps(graph, form)) == graph
    assert ", boxes, labels, polygons, vertices, image_ids = " in dumps(graph, "python").decode().replace("\n", " ")
    theirs = dali.Pipeline.deserialize(pipeline.serialize())
    theirs.build()
    assert_same(take(theirs, 3), expected)
    back = dali_lab.Pipeline.deserialize(make(dali, "readers.coco", arguments).serialize())
    assert_same(take(back, 3), expected)


def wrong(change: Any) -> Any:
    """Annotations with something changed."""
    changed = copy.deepcopy(annotations())
    change(changed)
    return changed


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no id": (lambda d: d["images"][4].pop("id"), {}, "picture 4.*'id'"),
    "no box": (lambda d: d["annotations"][3].pop("bbox"), {}, "id 103.*'bbox'"),
    "short box": (lambda d: d["annotations"][3]["bbox"].pop(), {}, "id 103.*3 numbers"),
    "words in a box": (lambda d: d["annotations"][3].update(bbox=[1, 2, "x", 4]), {}, "id 103.*bbox"),
    "fraction": (lambda d: d["annotations"][2].update(image_id=1.5), {}, r"id 102.*image_id.*1\.5"),
    "large number": (lambda d: d["annotations"][2].update(category_id=2**31), {}, "id 102.*category_id.*2147483648"),
    "no object": (lambda d: d["images"].__setitem__(2, 7), {}, "picture 2.*not an object but 7"),
    "no name": (lambda d: d["images"][1].update(file_name=5), {}, "picture 1.*'file_name' is not text but 5"),
    "category without number": (lambda d: d["categories"][1].pop("id"), {}, "category 1.*'id'"),
    "far away": (
        lambda d: d["annotations"][1].update(segmentation=[[1, 2, 3, 4, 5, 6], [1, 2, 1e7, 4, 5, 6]]),
        {"pixelwise_masks": True}, "id 101.*million",
    ),
    "no pictures": (lambda d: d.update(images=[]), {}, "no pictures"),
    "no list of pictures": (lambda d: d.pop("images"), {}, "'images'"),
    "object for list": (lambda d: d.update(annotations={"a": 1}), {}, "'annotations' is not a list"),
    "odd polygon": (
        lambda d: d["annotations"][1]["segmentation"][0].pop(), {"polygon_masks": True}, "id 101.*makes no pairs",
    ),
    "flat polygon": (
        lambda d: d["annotations"][1].update(segmentation=[1, 2, 3, 4]), {"polygon_masks": True}, "id 101.*list of",
    ),
    "long runs": (
        lambda d: d["annotations"][9].update(segmentation={"size": [HEIGHT, WIDTH], "counts": [700, 50]}),
        {"pixelwise_masks": True}, "id 109.*750",
    ),
    "runs without counts": (
        lambda d: d["annotations"][9]["segmentation"].pop("counts"), {"pixelwise_masks": True}, "id 109.*'counts'",
    ),
    "damaged runs": (
        lambda d: d["annotations"][9]["segmentation"].update(counts="\u00e4~"), {"pixelwise_masks": True}, "id 109",
    ),
    "runs of another size": (
        lambda d: d["annotations"][9].update(image_id=2, segmentation={"size": [2, 2], "counts": [4]}),
        {"pixelwise_masks": True}, "id 109.*2, 2",
    ),
    "picture without size": (lambda d: d["images"][0].pop("width"), {"ratio": True}, "width and height"),
    "nothing left": (lambda d: d.update(annotations=[]), {"skip_empty": True}, "no picture has objects"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_annotations_are_named(tmp_path: Path, name: str) -> None:
    change, arguments, words = BAD[name]
    given = write(tmp_path, wrong(lambda d: None)) | arguments
    Path(given["annotations_file"]).write_text(json.dumps(wrong(change)))
    with pytest.raises(dali_lab.DaliLabError, match=f"(?s){words}") as caught:
        make(dali_lab, "readers.coco", given)
    assert name == "nothing left" or given["annotations_file"] in str(caught.value)


def test_names_need_not_be_text_and_a_mark_may_come_first(tmp_path: Path) -> None:
    given = write(tmp_path, annotations(3))
    os.rename(tmp_path / "1.jpg", os.fsencode(tmp_path) + b"/\xe4 1.jpg")
    path = Path(given["annotations_file"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b'"1.jpg"', b'"\xe4 1.jpg"'))
    reader = make(dali_lab, "readers.coco", given)
    assert reader.epoch_size("Reader") == 3
    take(reader, 1)
    path.write_bytes(path.read_bytes().replace(b'"\xe4 1.jpg"', b'"\\u0031.jpg"'))
    os.rename(os.fsencode(tmp_path) + b"/\xe4 1.jpg", tmp_path / "1.jpg")
    take(make(dali_lab, "readers.coco", given), 1)


def test_a_file_that_ends_in_the_middle(tmp_path: Path, data: dict[str, str]) -> None:
    text = Path(data["annotations_file"]).read_text()
    path = tmp_path / "cut.json"
    for end in (0, 1, 40, len(text) // 2, len(text) - 1):
        path.write_text(text[:end])
        with pytest.raises(dali_lab.DaliLabError, match=r"cut\.json.*line 1 column"):
            make(dali_lab, "readers.coco", {**data, "annotations_file": str(path)})
    path.write_text("[" * 100_000)
    with pytest.raises(dali_lab.DaliLabError, match=r"cut\.json"):
        make(dali_lab, "readers.coco", {**data, "annotations_file": str(path)})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "file_root"),
        ({"file_root": "."}, "annotations_file"),
        ({"file_root": ".", "annotations_file": "/no/such.json"}, r"/no/such\.json"),
        ({"file_root": ".", "annotations_file": os.path.dirname(__file__)}, "it is a folder"),
        ({"file_root": ".", "preprocessed_annotations": "/no/such"}, "/no/such/filenames"),
        ({"file_root": ".", "preprocessed_annotations": ".", "ratio": True}, "ratio"),
        ({"file_root": ".", "annotations_file": "a", "polygon_masks": True, "pixelwise_masks": True}, "pixelwise"),
        ({"file_root": ".", "annotations_file": "a", "save_preprocessed_annotations": True}, "_dir"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        make(dali_lab, "readers.coco", arguments)


def test_a_picture_that_is_not_there_is_named_and_the_next_batch_comes(tmp_path: Path) -> None:
    pipeline = make(dali_lab, "readers.coco", write(tmp_path, annotations(4)), batch_size=2)
    (tmp_path / "0.jpg").unlink()
    failed = 0
    for _ in range(2):
        try:
            take(pipeline, 1)
        except dali_lab.DaliLabError as error:
            failed += "0.jpg" in str(error)
    assert failed == 1


def test_objects_without_shapes_do_not_hide_others(tmp_path: Path) -> None:
    data = annotations(3, 0)
    number = data["images"][0]["id"]
    shapes = [[], [[2, 2, 9, 2, 9, 9, 2, 9]]]
    data["annotations"] = [
        {"id": i, "image_id": number, "category_id": [90, 3][i], "bbox": [2, 2, 7, 7], "segmentation": shape}
        for i, shape in enumerate(shapes)
    ]
    given = {**write(tmp_path, data), "images": ["0.jpg"], "pixelwise_masks": True}
    (batch,) = take(make(dali_lab, "readers.coco", given, batch_size=1), 1)
    assert set(np.unique(batch[3][1][0])) == {0, 2} and batch[3][0] == "HWC"


def test_runs_are_joined_and_filled_up() -> None:
    assert as_runs([5, 0, 3, 2], [4, 4]).tolist() == [8, 2, 6]
    assert as_runs([0, 0, 5, 0, 3], [4, 4]).tolist() == [16]
    assert as_runs("U1X15`2S6YMe2", [24, 30]).tolist() == [37, 40, 5, 120, 200, 33, 285]


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_polygons_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    shapes = [
        "[[1, 2.5, -0.25, 0, 123.456, 99999.125]]",
        "[ [\n1 , 2 ] ,[3.0,4.75,\t5,6] ]",
        "[[1e2, 2.5E-1]]",
        "[[0.12345678901234567, 479.99999999999994, 1, 2]]",
        '{"size": [4, 4], "counts": [16]}',
        "[]",
        "[[], [7, 8]]",
        "null",
        "[[123456789.0625, 3]]",
    ]
    given = write(tmp_path, annotations(1, 0))
    objects = ", ".join(
        f'{{"id": {i}, "image_id": 0, "category_id": 7, "bbox": [0, 0, 2, 2], "segmentation": {shape}}}'
        for i, shape in enumerate(shapes)
    )
    path = Path(given["annotations_file"])
    path.write_text(json.dumps(json.loads(path.read_text()) | {"annotations": []}).replace("[]", f"[{objects}]"))
    monkeypatch.setattr(background, "ready", lambda *_: compiled)
    file = CocoFile(str(path), Wanted(0.1, True, True, False))
    polygons = [json.loads(shape) if shape[0] == "[" else [] for shape in shapes]
    assert file.polygon_counts.tolist() == [len(each) for each in polygons]
    starts = np.cumsum(file.point_counts) - file.point_counts
    for first, each in zip(file.first_polygons.tolist(), polygons, strict=True):
        for number, polygon in enumerate(each, first):
            start, points = starts[number], file.point_counts[number]
            numbers = file.points[start : start + points].reshape(-1)
            np.testing.assert_array_equal(numbers, np.array(polygon, np.float32))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("shape", "polygons"),
    [
        ("123456789012345678", 0),  # the form of the numbers that stand for polygons
        ('"\\"segmentation\\": [[1, 2]]"', 0),
        ('[], "of \\"segmentation": [[1, 2]]', 0),
        ('[[9, 9]], "other": {"segmentation": [[1, 2]]}', 1),
        ('[[9, 9]], "segmentation": [[1, 2], [3, 4]]', 2),
    ],
)
def test_what_only_looks_like_polygons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool, shape: str, polygons: int
) -> None:
    path = with_shape(tmp_path, shape)
    monkeypatch.setattr(background, "ready", lambda *_: compiled)
    assert CocoFile(path, Wanted(0.1, True, True, False)).polygon_counts.tolist() == [polygons]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "shape", ["[[1, 2]]5", "[[1,\v2]]", "[[01, 2]]", "[[1., 2]]", "[[1, 2]", '"a"segmentation": [[1, 2]]']
)
def test_faulty_text_around_polygons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool, shape: str
) -> None:
    path = with_shape(tmp_path, shape)
    monkeypatch.setattr(background, "ready", lambda *_: compiled)
    with pytest.raises(dali_lab.DaliLabError, match=r"no JSON: .*: line 1 column \d+ \(byte \d+\)"):
        CocoFile(path, Wanted(0.1, True, True, False))


def with_shape(folder: Path, shape: str) -> str:
    """A file with one object whose shape is this JSON."""
    path = folder / "annotations.json"
    path.write_text(
        '{"images": [{"id": 0, "file_name": "0.jpg"}], "annotations": [{"id": 1, "image_id": 0, "category_id": 7,'
        f' "bbox": [0, 0, 2, 2], "segmentation": {shape}}}]}}'
    )
    return str(path)
