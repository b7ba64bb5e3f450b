"""A broken entry says what is wrong with it, and the others work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dali_lab.errors import DaliLabError
from dali_lab.gallery import built_in_folder, load_entry, load_gallery


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("flip", "hue"):
        shutil.copytree(built_in_folder() / "hue", tmp_path / name)
    return tmp_path


def problem(folder: Path) -> str:
    gallery = load_gallery(folder, built_in=False)
    assert list(gallery.entries) == ["hue"]
    (broken,) = gallery.broken
    assert broken.name == "flip"
    return broken.problem


@pytest.mark.parametrize("name", ["graph.dali.json", "entry.json"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / "flip" / name).unlink()
    assert f"{name} is missing" in problem(folder)


@pytest.mark.parametrize("name", ["graph.dali.json", "entry.json"])
@pytest.mark.parametrize("text", ["", "{", "[1]", "\xff"])
def test_a_file_that_is_no_json_object(folder: Path, name: str, text: str) -> None:
    (folder / "flip" / name).write_bytes(text.encode("latin-1"))
    assert problem(folder)


def test_an_unknown_operator(folder: Path) -> None:
    path = folder / "flip" / "graph.dali.json"
    path.write_text(path.read_text().replace('"op": "hue"', '"op": "hew"'))
    assert "hew" in problem(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"title": ""},
        {"tags": "a"},
        {"colour": 1},
        {"before": "nothing"},
        {"before": 3},
        {"arguments": [{"node": "hue"}]},
        {"arguments": [{"node": "none", "name": "hue", "minimum": 0, "maximum": 1}]},
        {"arguments": [{"node": "hue", "name": "hue", "minimum": 2, "maximum": 1}]},
        {"arguments": [{"node": "hue", "name": "hue", "minimum": True, "maximum": "3"}]},
    ],
)
def test_an_entry_that_makes_no_sense(folder: Path, change: dict[str, object]) -> None:
    path = folder / "flip" / "entry.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert problem(folder)


def test_a_name_taken_twice(folder: Path) -> None:
    gallery = load_gallery(folder)
    assert "flip" in gallery.entries
    (broken,) = gallery.broken
    assert broken.name == "hue" and "is taken" in broken.problem


def test_folders_that_are_not_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DaliLabError, match="no gallery folder"):
        load_gallery(tmp_path / "nowhere")
    with pytest.raises(DaliLabError, match="no folder of pictures"):
        load_entry(folder / "hue").over(tmp_path / "nowhere")
