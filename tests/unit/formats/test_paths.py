"""Graph files name what lies beside them by paths that start at the file, and so can be moved with it."""

from __future__ import annotations

import json
import ntpath
import runpy
import shutil
import types
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab import cli, formats
from dali_lab.errors import ArgumentError
from dali_lab.formats import paths
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.others import LIBRARIES
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.document.graph_document import of_graph
from dali_lab.studio.document.store import Store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a picture in `data/cats`, and a working directory elsewhere with the same names and no picture."""
    folder = tmp_path / "project"
    (folder / "data" / "cats").mkdir(parents=True)
    cv2.imwrite(str(folder / "data" / "cats" / "a.png"), np.full((4, 5, 3), 7, np.uint8))
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "elsewhere"
    (folder / "data").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def reader(op: str = "readers.file", **arguments: Any) -> Graph:
    return Graph({"reader": Node("reader", op, arguments=arguments)}, (Edge("reader"),), {"batch_size": 1})


def in_file(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())["nodes"]["reader"]["arguments"]
    return found


def save_in_editor(graph: Graph, file: Path, folder: Path) -> None:
    store = Store(of_graph(graph), root=folder)
    store.save(str(file), overwrite=True)


@pytest.mark.parametrize("editor", [False, True])
def test_saved_moved_and_run_from_elsewhere(
    editor: bool, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, graph = project / "g.dali.json", reader(file_root=str(project / "data"))
    save_in_editor(graph, file, project) if editor else formats.dump(graph, file)
    assert in_file(file) == {"file_root": "./data"}
    moved = tmp_path / "moved"
    shutil.move(project, moved)
    expected = {"file_root": str(moved / "data")}
    assert formats.load(moved / file.name).nodes["reader"].arguments == expected
    assert json_file.load(moved / file.name).nodes["reader"].arguments == expected
    assert Pipeline.from_graph(formats.load(moved / file.name)).run()[0].as_array().size
    store = Store()
    store.open_own(str(moved / file.name))
    assert store.document["nodes"]["reader"]["arguments"] == expected
    assert not store.dirty
    assert cli.main(["run", str(moved / file.name), "--batches", "1"]) == 0
    capsys.readouterr()
    assert cli.main(["export", str(moved / file.name), "--to", "python"]) == 0
    assert str(moved / "data") in capsys.readouterr().out


@pytest.mark.parametrize(
    "path",
    ["data", "../project/data", "$photographs", "s3://bucket/data", "file:///data", "/nowhere/data", "~/data", ""],
)
def test_other_paths_stay_as_they_are(path: str, project: Path) -> None:
    file = project / "g.dali.json"
    formats.dump(reader(file_root=path), file)
    assert in_file(file) == {"file_root": path}
    assert formats.load(file).nodes["reader"].arguments == {"file_root": path}


def test_a_program_says_that_samples_of_the_gallery_are_to_be_replaced() -> None:
    program = formats.dumps(reader(file_root="$photographs"), "python")
    assert b'ROOT = "$photographs"  # the gallery\'s samples: name a folder of yours\n' in program
    with pytest.raises(ArgumentError, match=r"'\$photographs': it stands for samples of the gallery; name a folder"):
        Pipeline.from_graph(formats.loads(program)).build()


def test_a_folder_beside_with_a_longer_name_is_not_inside(project: Path) -> None:
    other = f"{project}-2/data"
    formats.dump(reader(file_root=other), project / "g.dali.json")
    assert in_file(project / "g.dali.json") == {"file_root": other}


def test_a_path_from_the_working_directory_keeps_its_meaning(project: Path, elsewhere: Path) -> None:
    formats.dump(reader(file_root="./data"), project / "g.dali.json")
    assert in_file(project / "g.dali.json") == {"file_root": "data"}
    formats.dump(reader(file_root="./data"), elsewhere / "g.dali.json")
    assert in_file(elsewhere / "g.dali.json") == {"file_root": "./data"}


def test_the_folder_of_the_file_itself(project: Path) -> None:
    formats.dump(reader(file_root=str(project)), project / "g.dali.json")
    assert in_file(project / "g.dali.json") == {"file_root": "./"}
    assert formats.load(project / "g.dali.json").nodes["reader"].arguments == {"file_root": str(project)}


def test_lists_of_paths_and_those_that_start_at_a_folder(project: Path) -> None:
    file, picture = project / "g.dali.json", str(project / "data" / "cats" / "a.png")
    formats.dump(reader(files=(picture, "/nowhere/b.png")), file)
    assert in_file(file) == {"files": ["./data/cats/a.png", "/nowhere/b.png"]}
    assert formats.load(file).nodes["reader"].arguments == {"files": (picture, "/nowhere/b.png")}
    formats.dump(reader(file_root=str(project / "data"), files=("./cats/a.png", picture)), file)
    assert in_file(file) == {"file_root": "./data", "files": ["./cats/a.png", picture]}
    assert formats.load(file).nodes["reader"].arguments["files"] == ("./cats/a.png", picture)


def test_links(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    (project / "big").symlink_to(tmp_path)
    file = project / "g.dali.json"
    formats.dump(reader(file_root=str(tmp_path / "link" / "data")), file)
    assert in_file(file) == {"file_root": "./data"}, "the file's folder by another name"
    formats.dump(reader(file_root=str(project / "big")), file)
    assert in_file(file) == {"file_root": "./big"}, "a link beside the file"
    formats.dump(reader(file_root=f"{project}/big/../data"), file)
    assert in_file(file) == {"file_root": f"{project}/big/../data"}, "the folder above that of the link's target"


def test_paths_of_unknown_operators_and_other_arguments_stay(project: Path) -> None:
    file, data = project / "g.dali.json", str(project / "data")
    formats.dump(reader(op="no.such", file_root=data), file)
    assert in_file(file) == {"file_root": data}
    formats.dump(reader(file_root=data, name=data), file)
    assert in_file(file) == {"file_root": "./data", "name": data}


def test_separators_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntpath, "realpath", ntpath.normpath)
    monkeypatch.setattr(ntpath, "abspath", ntpath.normpath)
    windows = types.SimpleNamespace(path=ntpath, sep="\\", pardir="..", curdir=".")
    monkeypatch.setattr(paths, "os", windows)
    place = paths.placing("C:\\work\\g.dali.json")
    assert place("C:\\work\\data\\cats") == "./data/cats"
    assert place("c:\\Work\\data") == "./data"
    assert place("D:\\data") == "D:\\data"
    assert place("C:\\work\\..\\data") == "C:\\work\\..\\data"
    assert paths.resolving("C:\\work\\g.dali.json")("./data/cats") == "C:\\work\\data\\cats"


def test_states_in_git_and_exports_to_files(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "g.dali.json"
    formats.dump(reader(file_root=str(project / "data")), file)
    before = tmp_path / "before.dali.json"
    shutil.copy(file, before)
    assert cli.main(["diff", str(before), str(file)]) == 0, "git shows an old state from another folder"
    assert cli.main(["export", str(file), "--to", "json", "-o", str(before)]) == 0
    assert in_file(before) == {"file_root": "./project/data"}
    assert cli.main(["diff", str(before), str(file)]) == 0, "the same folder by another path"
    capsys.readouterr()


def test_a_program_moves_with_its_data(project: Path, tmp_path: Path) -> None:
    """Its constants say where the data lie, and it is read as a graph from wherever it is."""
    graph = reader(file_root=str(project / "data"))
    formats.dump(graph, project / "made.py")
    text = (project / "made.py").read_text()
    assert 'ROOT = os.path.join(os.path.dirname(__file__), "data")\nBATCH_SIZE = 1\nSEED = None' in text
    assert "file_root=ROOT" in text
    assert formats.load(project / "made.py") == graph
    moved = project.rename(tmp_path / "moved")
    assert formats.load(moved / "made.py") == reader(file_root=str(moved / "data"))
    ran = runpy.run_path(str(moved / "made.py"))
    assert ran["pipeline"]().run()[0].as_cpu().shape() == [((moved / "data" / "cats" / "a.png").stat().st_size,)]
    formats.dump(reader(file_root=str(tmp_path)), moved / "other.py")
    assert f'ROOT = "{tmp_path}"' in (moved / "other.py").read_text()


def test_programs_of_other_libraries_move_with_their_data(project: Path) -> None:
    nodes = {**reader(file_root=str(project / "data")).nodes}
    nodes["picture"] = Node("picture", "decoders.image", inputs=(Edge("reader"),))
    for library in LIBRARIES:
        formats.dump(Graph(nodes, (Edge("picture"),)), project / f"made.{library}.py")
        text = (project / f"made.{library}.py").read_text()
        assert 'ROOT = os.path.join(os.path.dirname(__file__), "data")\nBATCH_SIZE = 1\nSEED = 0\n' in text
        assert "import os\n" in text
