"""The gallery of a project from elsewhere: its entries read in the roots alone, and run no code of theirs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client

Open = Callable[..., Session]
ENTRY = {"title": "Theirs", "family": "color", "helps": "a", "hurts": "b"}
NODES: dict[str, Any] = {
    "reader": {"op": "readers.file", "arguments": {"file_root": "$photographs"}},
    "decode": {"op": "decoders.image", "inputs": ["reader"]},
}
GRAPH = {"format": "dali-lab/graph", "version": 1, "nodes": NODES, "outputs": ["decode"]}
PROGRAM = """
open({mark!r}, "w").close()
import door_gallery_module
from dali_lab import fn, pipeline_def


@pipeline_def(batch_size=2)
def secret_pipeline():
    jpegs, _ = fn.readers.file(file_root="$photographs", name="secret")
    return fn.decoders.image(jpegs)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a gallery, beside which lies a folder that is outside of the roots."""
    (tmp_path / "project" / "gallery").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return tmp_path / "project"


@pytest.fixture
def client(open_session: Open, project: Path) -> Client:
    return Client(open_session(root=project, permissions=Permissions(Roots([project]))))


def entry(project: Path, name: str, **files: str | bytes | Path) -> Path:
    """An entry whose files have this content, or are links."""
    folder = project / "gallery" / name
    folder.mkdir()
    for file, content in {"entry_json": json.dumps(ENTRY), **files}.items():
        place = folder / file.replace("_", ".")
        if isinstance(content, Path):
            place.symlink_to(content)
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_entries_read_no_files_outside_of_the_roots(client: Client, project: Path) -> None:
    outside = project.parent / "outside"
    (outside / "entry").write_text(json.dumps({**ENTRY, "title": "secret"}))
    (outside / "graph").write_text(json.dumps(GRAPH))
    (outside / "program").write_text(PROGRAM.format(mark=""))
    entry(project, "a", entry_json=outside / "entry", graph_dali_json=json.dumps(GRAPH))
    entry(project, "b", graph_dali_json=outside / "graph")
    entry(project, "c", graph_py=outside / "program")
    (project / "gallery" / "d").symlink_to(entry(project, "real").rename(outside / "whole"))
    beginnings = project / "gallery" / "_beginnings"
    beginnings.mkdir()
    (beginnings / "theirs.dali.json").symlink_to(outside / "graph")
    begun = {**ENTRY, "begins": "theirs", "nodes": {"flip": {"op": "flip", "inputs": ["decode"]}}}
    entry(project, "e", entry_json=json.dumps(begun))
    found = client.call("gallery.list")
    assert not [line for line in found["entries"] if line["own"]]
    assert [line["name"] for line in found["broken"]] == ["a", "b", "c", "d", "e"]
    for line in found["broken"]:
        assert "outside the folders" in line["problem"] and "secret" not in line["problem"]
    for name in "abcde":
        assert "error" in client.response(client.send("open", path=f"gallery/{name}"))


def test_a_gallery_that_is_a_link_is_not_listed(client: Client, project: Path) -> None:
    (project / "gallery").rmdir()
    (project / "gallery").symlink_to(project.parent / "outside")
    (project.parent / "outside" / "a secret name").mkdir()
    assert "secret" not in json.dumps(client.call("gallery.list")["broken"])


def test_pipes_stop_nothing(client: Client, project: Path) -> None:
    entry(project, "a").joinpath("graph.dali.json").symlink_to("pipe")
    os.mkfifo(project / "gallery" / "a" / "pipe")
    (line,) = client.call("gallery.list")["broken"]
    assert line["name"] == "a"


def test_entries_run_no_code(client: Client, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "it ran"
    (tmp_path / "door_gallery_module.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef f(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    python = {"op": "python_function", "inputs": ["decode"]}
    nodes = {**NODES, "python": {**python, "arguments": {"function": {"$python": "door_gallery_module:f"}}}}
    entry(project, "named", graph_dali_json=json.dumps({**GRAPH, "nodes": nodes, "outputs": ["python"]}))
    entry(project, "program", graph_py=PROGRAM.format(mark=str(mark)))
    lines = {line["name"]: line for line in client.call("gallery.list")["entries"]}
    assert lines["program"]["own"], "a program is read and not run"
    asked = client.call("gallery.tiles", names=["named", "program"])["tiles"]["named"]["problem"]
    assert "has to be allowed" in asked
    for method in ("gallery.draw", "gallery.code", "gallery.cost"):
        assert client.error(method, name="named")["code"] == "consent"
    client.call("gallery.surprise", seed=1)
    assert not mark.exists()


def test_annotations_beside_pictures_come_from_the_roots(client: Client, project: Path) -> None:
    """Files beside a picture, which are copied or read for its entry, and folders that are links."""
    outside = project.parent / "outside"
    cv2.imwrite(str(outside / "mask.png"), np.full((64, 64), 3, np.uint8))
    (outside / "boxes.txt").write_text("1 0.5 0.5 0.2 0.2\n")
    cv2.imwrite(str(outside / "a secret name.jpg"), np.zeros((8, 8, 3), np.uint8))
    pictures = project / "pictures"
    for name, target in (("mask.png", outside / "mask.png"), ("txt", outside / "boxes.txt")):
        folder = pictures / name
        folder.mkdir(parents=True)
        cv2.imwrite(str(folder / "a.jpg"), np.zeros((64, 64, 3), np.uint8))
        (folder / f"a.{name}").symlink_to(target)
        said = json.dumps(client.response(client.send("gallery.draw", name=annotated(client), pictures=str(folder))))
        assert "outside the folders" in said
    (pictures / "link").symlink_to(outside)
    assert client.call("gallery.pictures", pictures=str(pictures))["count"] == 2
    listed = client.call("list_files", path=str(pictures))["entries"]
    assert {each["name"]: each["images"] for each in listed} == {"link": 0, "mask.png": 2, "txt": 1}


def annotated(client: Client) -> str:
    """The name of a built-in entry that takes boxes and masks."""
    found = client.session.gallery_page._gallery()
    return next(each.name for each in found if "$annotated" in json.dumps(str(each.graph.nodes)))
