"""Boxes, points and masks are read from files beside a person's pictures; others get stand-ins."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.errors import DaliLabError
from dali_lab.gallery.samples.own import annotation_name, annotations_of, pictures_in


@pytest.fixture
def folder(pictures: Path, tmp_path: Path) -> Path:
    """The pictures, in a folder that may be written to."""
    return Path(shutil.copytree(pictures, tmp_path / "pictures"))


def read(folder: Path, kind: str) -> list[np.ndarray]:
    files = pictures_in(folder)
    made = annotations_of(folder, files)
    return [np.load(made / annotation_name(file, kind)) for file in files]


def test_what_stands_beside_a_picture_is_taken(folder: Path) -> None:
    first, second, *_ = pictures_in(folder)
    assert first == "coarse/0.jpg"
    own = np.array([[0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]], np.float64)
    np.save(folder / "coarse/0.boxes.npy", own)
    np.save(folder / "coarse/0.labels.npy", np.array([5, 6]))
    np.save(folder / "coarse/0.points.npy", np.array([[0.5, 0.25]]))
    (folder / "coarse/1.txt").write_text("3 0.5 0.5 0.2 0.4\n\n7 0.1 0.1 0.4 0.2\n")
    mask = np.full((220, 280), 2, np.uint8)
    cv2.imwrite(str(folder / "coarse/0.mask.png"), mask)
    boxes, labels, points = (read(folder, kind) for kind in (".boxes.npy", ".labels.npy", ".points.npy"))
    np.testing.assert_array_equal(boxes[0], own.astype(np.float32))
    np.testing.assert_allclose(boxes[1], [[0.4, 0.3, 0.6, 0.7], [0, 0, 0.3, 0.2]], atol=1e-6)
    assert [each.tolist() for each in labels[:3]] == [[5, 6], [3, 7], [1]]
    assert boxes[2].shape == (1, 4) and points[0].tolist() == [[0.5, 0.25]] and points[1].shape == (5, 2)
    made = annotations_of(folder, pictures_in(folder))
    found = cv2.imread(str(made / annotation_name(first, ".mask.png")), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(found, mask)
    stand_in = cv2.imread(str(made / annotation_name(second, ".mask.png")), cv2.IMREAD_UNCHANGED)
    assert set(np.unique(stand_in)) == {0, 1}


def test_boxes_of_coco_annotations(folder: Path) -> None:
    first, second, third, *_ = pictures_in(folder)
    images = [{"id": i, "file_name": name, "width": 280, "height": 220} for i, name in enumerate((first, "1.jpg"))]
    boxes = [(0, [28, 22, 140, 110]), (1, [0, 0, 280, 220]), (0, [140, 110, 140, 110])]
    data = {
        "images": images,
        "annotations": [{"image_id": image, "category_id": 9, "bbox": box} for image, box in boxes],
        "categories": [{"id": 2}, {"id": 9}],
    }
    (folder / "settings.json").write_text("{")
    (folder / "instances.json").write_text(json.dumps(data))
    found, labels = read(folder, ".boxes.npy"), read(folder, ".labels.npy")
    np.testing.assert_allclose(found[0], [[0.1, 0.1, 0.6, 0.6], [0.5, 0.5, 1, 1]], atol=1e-6)
    assert second == "coarse/1.jpg" and found[1].tolist() == [[0, 0, 1, 1]] and third
    assert [each.tolist() for each in labels[:3]] == [[2, 2], [2], [1]]
    (folder / "instances.json").write_text(json.dumps(data)[:-9])
    with pytest.raises(DaliLabError, match=r"instances\.json"):
        read(folder, ".boxes.npy")


def test_a_change_beside_a_picture_is_seen(folder: Path) -> None:
    path = folder / "fine/2.boxes.npy"
    np.save(path, np.zeros((1, 4)))
    before = read(folder, ".boxes.npy")[-1]
    np.save(path, np.ones((2, 4)))
    os.utime(path, ns=(1, 1))
    assert before.shape == (1, 4) and read(folder, ".boxes.npy")[-1].shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("coarse/0.boxes.npy", b"no array", "0.boxes.npy is not an array"),
        ("coarse/0.txt", b"cat 1 2", "0.txt has no boxes as YOLO"),
        ("coarse/0.txt", b"1 0.5 0.5\n", "0.txt has no boxes as YOLO"),
    ],
)
def test_damaged_files_are_named(folder: Path, name: str, content: bytes, words: str) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(DaliLabError, match=words):
        annotations_of(folder, pictures_in(folder))


def test_numbers_that_are_no_shares_are_refused(folder: Path) -> None:
    np.save(folder / "coarse/0.boxes.npy", np.array([[0, 0, 10, 10]]))
    with pytest.raises(DaliLabError, match="rows of 4 numbers from 0 to 1"):
        annotations_of(folder, pictures_in(folder))
