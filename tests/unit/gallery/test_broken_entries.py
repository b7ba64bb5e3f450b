"""A broken entry reports its error, and the others work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dali_lab.errors import DaliLabError
from dali_lab.formats import dumps
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery import built_in_folder, load_entry, load_gallery
from dali_lab.gallery.making import new_entry
from dali_lab.graph.graph import Edge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hue = load_entry(built_in_folder() / "hue")
    new_entry(hue.graph, tmp_path, name="flip")
    shutil.copytree(hue.folder, tmp_path / "hue")
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
        {"begins": "photograph"},
        {"nodes": {}},
    ],
)
def test_an_entry_that_makes_no_sense(folder: Path, change: dict[str, object]) -> None:
    path = folder / "flip" / "entry.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert problem(folder)


HUE = {"op": "hue", "inputs": ["photo"], "arguments": {"hue": 60.0}}


def test_an_entry_that_continues_a_shared_beginning(folder: Path) -> None:
    place = folder / "flip"
    (place / "graph.dali.json").unlink()
    text = {"title": "Hue", "family": "colour", "helps": "Cars.", "hurts": "Fruit."}
    short = {**text, "begins": "photograph", "nodes": {"hue": HUE}, "pipeline": {"batch_size": 2}}
    (place / "entry.json").write_text(json.dumps(short))
    entry = load_entry(place)
    hue = load_entry(folder / "hue")
    assert entry.graph == hue.graph.replaced(pipeline={**hue.graph.pipeline, "batch_size": 2})
    assert entry.before == Edge("photo")
    (place / "entry.json").write_text(json.dumps({**short, "before": None}))
    assert load_entry(place).before is None

    (folder / "_beginnings").mkdir()
    own = json_file.dumps(hue.graph.replaced(outputs=(Edge("decoded"),)).without(["hue", "photo"]))
    (folder / "_beginnings" / "large.dali.json").write_text(own)
    large = {**short, "begins": "large", "nodes": {"hue": {**HUE, "inputs": ["decoded"]}}}
    (place / "entry.json").write_text(json.dumps(large))
    assert load_entry(place).before == Edge("decoded")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"begins": "photo"}, "did you mean 'photograph'"),
        ({"begins": 3}, "there are annotated"),
        ({"nodes": []}, "object of nodes"),
        ({"nodes": {}}, "object of nodes"),
        ({"nodes": {"photo": HUE}}, "has 'photo', as 'photograph' does"),
        ({"nodes": {"hue": {"op": "hew"}}}, "hew"),
        ({"nodes": {"hue": 3}}, "must be an object"),
        ({"outputs": ["hew"]}, "hew"),
        ({"pipeline": 3}, "pipeline must be an object"),
    ],
)
def test_a_graph_in_an_entry_that_makes_no_sense(folder: Path, change: dict[str, object], said: str) -> None:
    (folder / "flip" / "graph.dali.json").unlink()
    path = folder / "flip" / "entry.json"
    text = json.loads((folder / "hue" / "entry.json").read_text())
    path.write_text(json.dumps(text | {"arguments": []} | change))
    assert said in problem(folder)


def test_a_program_is_read_and_not_run(folder: Path) -> None:
    place = folder / "flip"
    graph = load_entry(place).graph
    (place / "graph.dali.json").unlink()
    (place / "graph.py").write_text(dumps(graph, "python").decode() + "\nraise SystemExit\n")
    assert load_entry(place).graph == graph
    (place / "graph.py").write_text("import os\n")
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
