"""An entry made from a graph: it loads, runs, and has controls to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab.cli import main
from dali_lab.errors import DaliLabError
from dali_lab.formats import dump
from dali_lab.gallery import load_entry, load_gallery, own_folders
from dali_lab.gallery.making import new_entry
from dali_lab.graph.graph import Edge
from tests.unit.gallery.conftest import READY, built_in


@pytest.mark.parametrize("ending", [".dali.json", ".py", ".dali"])
def test_from_a_file_of_any_form(tmp_path: Path, ending: str) -> None:
    dump(built_in()["hsv"].graph, tmp_path / f"My colours{ending}")
    folder = new_entry(tmp_path / f"My colours{ending}", tmp_path / "gallery")
    assert folder == tmp_path / "gallery" / "my-colours"
    entry = load_entry(folder)
    assert entry.graph == built_in()["hsv"].graph
    assert (entry.title, entry.family, entry.before) == ("My colours", "colour", Edge("photo"))
    assert {argument.name for argument in entry.arguments} == {"range"}


@pytest.mark.parametrize("name", READY[::9])
def test_any_graph_makes_an_entry(tmp_path: Path, name: str) -> None:
    entry = load_entry(new_entry(built_in()[name].graph, tmp_path, name=name))
    assert entry.graph == built_in()[name].graph
    assert entry.before is not None and entry.before.node in entry.graph.nodes


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    dump(built_in()["rotate"].graph, tmp_path / "turn.dali.json")
    assert main(["gallery", "new", "turn.dali.json", "--title", "My turn"]) == 0
    assert load_entry(tmp_path / "gallery" / "turn").title == "My turn"
    assert own_folders(tmp_path) == [tmp_path / "gallery"]
    assert load_gallery(*own_folders(tmp_path))["turn"].title == "My turn"
    assert main(["gallery", "new", "turn.dali.json"]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["gallery", "new", "nowhere.dali.json"]) == 2


def test_what_cannot_be_an_entry_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "half.dali.json").write_text("{")
    for graph, name in (("half.dali.json", None), ("half.dali.json", "..")):
        with pytest.raises(DaliLabError):
            new_entry(tmp_path / graph, tmp_path / "gallery", name=name)
    assert not list((tmp_path / "gallery").glob("*")) if (tmp_path / "gallery").exists() else True


def test_folders_named_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_LAB_GALLERY", str(tmp_path / "nowhere"))
    gallery = load_gallery(*own_folders(tmp_path), missing_ok=True)
    assert [entry.name for entry in gallery.broken] == ["nowhere"]
    assert len(gallery) == len(built_in())
