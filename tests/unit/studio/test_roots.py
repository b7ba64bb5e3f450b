"""Folders: the session reads and writes within its roots, links resolved, and outside only what the person allowed."""

from __future__ import annotations

import ast
import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab.formats.disk import read_below, write_below
from dali_lab.io import files
from dali_lab.io import roots as roots_module
from dali_lab.io.roots import OutsideRootsError, Roots, reach, reach_to_write, server_of
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.schema.registry import all_operators
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.hosts.application import start_session
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document

Open = Callable[..., Session]
FLIP = {"op": "flip", "inputs": ["decode"]}


@pytest.fixture
def outside(tmp_path: Path, folder: Path) -> Path:
    """A folder with a picture, a graph and a list; `folder` lies in the roots."""
    found = tmp_path / "outside"
    (found / "cats").mkdir(parents=True)
    cv2.imwrite(str(found / "cats" / "secret.jpg"), np.zeros((8, 8, 3), np.uint8))
    (found / "list.txt").write_text("cats/secret.jpg 0\n")
    (found / "theirs.dali.json").write_text('{"format": "dali-lab/graph", "version": 1, "nodes": {}}')
    return found


@pytest.fixture
def client(open_session: Open, folder: Path) -> Client:
    """A client of a session whose only root is the folder of pictures."""
    return Client(open_session(root=folder, permissions=Permissions(Roots([folder]))))


def allow(client: Client, permission: dict[str, str]) -> str:
    """Agree to a permission as a person does; the text of the question."""
    error = client.error("allow", permission=permission)
    assert error["code"] == "consent"
    client.call("allow", permission=permission, consent=error["consent"]["number"])
    return str(error["consent"]["text"])


REQUESTS: dict[str, dict[str, Any]] = {
    "open": {"path": "{}/theirs.dali.json"},
    "save": {"path": "{}/mine"},
    "list_files": {"path": "{}"},
    "list_pipelines": {"path": "{}/theirs.dali.json"},
    "trace": {"path": "{}/theirs.dali.json", "run": 1},
    "gallery.pictures": {"pictures": "{}"},
}


@pytest.mark.parametrize("method", REQUESTS)
@pytest.mark.parametrize("way", ["plain", "dots", "link", "link in the middle"])
def test_requests_stay_in_the_roots(client: Client, folder: Path, outside: Path, method: str, way: str) -> None:
    (folder / "link").symlink_to(outside)
    (folder / "up").symlink_to(outside.parent)
    place = {
        "plain": str(outside),
        "dots": f"cats/../../{outside.name}",
        "link": "link",
        "link in the middle": f"up/{outside.name}",
    }[way]
    params = {key: value.format(place) if isinstance(value, str) else value for key, value in REQUESTS[method].items()}
    error = client.error(method, **params)
    assert error["code"] == "outside"
    assert error["permission"] == {"what": "folder", "name": str(outside)}, "the folder is named with links resolved"
    assert not (outside / "mine.dali.json").exists()


def test_the_person_is_asked_once(client: Client, outside: Path) -> None:
    permission = client.error("list_files", path=str(outside))["permission"]
    assert allow(client, permission) == str(outside)
    assert client.call("list_files", path=str(outside))["path"] == str(outside)
    client.call("save", path=f"{outside}/mine")
    assert (outside / "mine.dali.json").exists()
    assert client.error("list_files", path=str(outside.parent))["code"] == "outside"


@pytest.mark.parametrize("number", [None, True, "", "made up", 1, [], {}], ids=repr)
def test_a_number_that_is_made_up_opens_no_folder(client: Client, outside: Path, number: object) -> None:
    permission = {"what": "folder", "name": str(outside)}
    assert client.error("allow", permission=permission, consent=number)["code"] == "consent"
    assert client.error("list_files", path=str(outside))["code"] == "outside"


def test_a_number_is_for_one_folder_and_one_connection(client: Client, outside: Path) -> None:
    ask = {"what": "folder", "name": str(outside)}
    number = client.error("allow", permission=ask)["consent"]["number"]
    other = {"what": "folder", "name": str(outside.parent)}
    assert client.error("allow", permission=other, consent=number)["code"] == "consent"
    number = client.error("allow", permission=ask)["consent"]["number"]
    assert Client(client.session, "second").error("allow", permission=ask, consent=number)["code"] == "consent"
    assert client.error("list_files", path=str(outside))["code"] == "outside"


@pytest.mark.parametrize("name", ["", "relative", "/tmp/../etc", "{}/link"])
def test_a_folder_is_asked_for_as_it_is(client: Client, folder: Path, outside: Path, name: str) -> None:
    (folder / "link").symlink_to(outside)
    error = client.error("allow", permission={"what": "folder", "name": name.format(folder)})
    assert error["code"] == "failed" and "consent" not in error


READERS: dict[str, dict[str, Any]] = {
    "folder": {"file_root": "{}"},
    "list": {"file_list": "{}/list.txt"},
    "files": {"files": ["{}/cats/secret.jpg"]},
    "url": {"file_root": "file://{}"},
}


@pytest.mark.parametrize("case", READERS)
def test_a_document_reads_in_the_roots(client: Client, outside: Path, case: str) -> None:
    arguments = {
        key: value.format(outside) if isinstance(value, str) else [value[0].format(outside)]
        for key, value in READERS[case].items()
    }
    graph = document("", flip=FLIP)
    graph["nodes"]["reader"]["arguments"] = arguments
    client.session.replace(graph)
    problem = next(each for each in client.call("validate")["problems"] if each["code"] == "outside")
    assert (problem["node"], problem["argument"]) == ("reader", next(iter(arguments)))
    nodes = client.preview()
    assert "reader" not in nodes or not nodes["reader"].get("outputs")
    if case != "url":  # which this reader does not read
        allow(client, problem["permission"])
        if case == "files":
            allow(client, {"what": "folder", "name": str(outside)})
        assert client.preview()["flip"]["outputs"]


def test_lists_and_links_in_the_roots_lead_nowhere_else(client: Client, folder: Path, outside: Path) -> None:
    secret = outside / "cats" / "secret.jpg"
    (folder / "list.txt").write_text(f"{secret} 0\n")
    (folder / "dogs" / "9.jpg").symlink_to(secret)
    for arguments in (
        {"file_list": str(folder / "list.txt")},
        {"file_root": str(folder), "files": [f"../{outside.name}/cats/secret.jpg"]},
        {"file_root": str(folder), "files": ["dogs/9.jpg"]},
    ):
        graph = document(folder)
        graph["nodes"]["reader"]["arguments"] = arguments
        client.session.replace(graph)
        assert not [each for each in client.call("validate")["problems"] if each["severity"] == "error"]
        error = client.preview()["reader"]["error"]
        assert "outside the folders" in error["message"]
        assert error["file"] == str(folder / "dogs" / "9.jpg") or "secret.jpg" in error["file"]
        client.send("run", run=50, batches=1)
        assert "outside the folders" in client.event("run.done")["error"]["message"]


def test_variants_and_comparisons_stay_in_the_roots(client: Client, folder: Path, outside: Path) -> None:
    client.session.replace(document(folder, flip=FLIP))
    swept = client.call("sweep", node="reader", argument="file_root", values=[str(folder), str(outside)], thumb=32)
    assert swept["errors"][0] is None and "outside the folders" in swept["errors"][1]
    compared = client.call(
        "compare", document=document(outside, flip=FLIP), nodes=[{"node": "flip", "output": 0}], samples=1
    )
    assert not compared["results"][0]["images"]
    error = client.error("gallery.draw", graph=document(outside, flip=FLIP))
    assert error["code"] == "outside"


@pytest.mark.parametrize("path", ["a\0b.jpg", "~nobody-of-this-name/x", " ", "\udcff"])
def test_what_is_no_path_is_a_problem_of_its_node(client: Client, folder: Path, path: str) -> None:
    graph = document(folder, flip=FLIP)
    graph["nodes"]["reader"]["arguments"] = {"files": [path]}
    client.session.replace(graph)
    client.call("validate")
    assert client.preview()["flip"]["skipped"]


def test_a_named_pipe_stops_no_view_of_the_dataset(client: Client, folder: Path) -> None:
    os.mkfifo(folder / "cats" / "pipe.jpg")
    graph = document(folder)
    graph["nodes"]["reader"]["arguments"] = {"file_root": str(folder), "files": ["cats/pipe.jpg", "dogs/4.jpg"]}
    client.session.replace(graph)
    pipe, _ = client.call("dataset", node="reader", count=20)["samples"]
    assert "not a file" in pipe["problem"]


def test_a_server_is_asked_for_by_its_name(client: Client, folder: Path) -> None:
    graph = document("s3://bucket/pictures", flip=FLIP)
    client.session.replace(graph)
    problem = next(each for each in client.call("validate")["problems"] if each["code"] == "outside")
    assert problem["permission"] == {"what": "server", "name": "s3://bucket"}
    assert allow(client, problem["permission"]) == "s3://bucket"
    assert not [each for each in client.call("validate")["problems"] if each["code"] == "outside"]


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("s3://bucket/a/b", "s3://bucket"),
        ("HTTPS://me:word@Host:8080/x", "https://host:8080"),
        ("simplecache::s3://bucket/x", "simplecache::s3://bucket/x"),
        ("/a/b", None),
        ("a:b", None),
        ("file:///etc/passwd", None),
        ("C:\\pictures", None),
    ],
)
def test_servers_are_told_from_paths(address: str, server: str | None) -> None:
    assert server_of(address) == server


def test_an_address_of_a_file_is_the_file(tmp_path: Path) -> None:
    roots = Roots([tmp_path])
    assert roots.reads(f"file://{tmp_path}/a") and roots.reads(f"local://{tmp_path}/a")
    for path in ("file:///etc/passwd", f"file://localhost{tmp_path}", "file:relative", f"file:///{tmp_path}/../x"):
        assert not roots.reads(path), path


def test_every_argument_that_names_files_says_so() -> None:
    names = ("root", "path", "file", "files", "folder", "dir", "list", "filenames", "filepaths", "paths")
    missing = [
        f"{operator.name}({argument.name})"
        for operator in all_operators().values()
        for argument in operator.arguments
        if argument.type == "string" and argument.listed and argument.name.rpartition("_")[2] in names
        if not argument.is_path
    ]
    assert not missing


def test_functions_that_open_files_for_operators_ask_first() -> None:
    """Functions that open a file or list a folder ask `reach` or `reach_to_write`, themselves or by `check_reach`."""
    package = Path(dali_lab.__file__).parent
    # Handles that are open already; files that were asked for before (`_local` on a thread without limits);
    # files of the package's own, and of the machine.
    known = {
        "read_into",
        "_read_one_by_one",
        "_head",
        "read",
        "_sample_path",
        "_local",
        "_kept",
        "_keep",
        "_is_google",
        "_without_waiting",
        "_host_modules_alone",
        "write",
    }
    silent = []
    for path in (path for part in ("operators", "io", "codecs", "gallery") for path in (package / part).rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and function.name not in known:
                called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
                opens = called & {"open", "os.open", "os.scandir", "os.listdir", "os.walk", "io.open", "self._av.open"}
                opens |= {name for name in called if name.endswith((".read_text", ".iterdir", "copyfile"))}
                if opens and not called & {"reach", "reach_to_write", "check_reach", "open_within"}:
                    silent.append(f"{path.relative_to(package)}: {function.name}")
    assert not silent


@pytest.mark.parametrize("way", ["folder", "file"])
def test_a_link_that_comes_before_the_opening_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Another process puts a link in the place of a folder or a file between the check and the opening."""
    root, other = tmp_path / "root", tmp_path / "other"
    for place in (root / "folder", other):
        place.mkdir(parents=True)
        (place / "file").write_bytes(place.name.encode())

    def reach_slowly(path: roots_module.PathLike) -> None:
        reach(path)
        place, target = (root / "folder", other) if way == "folder" else (root / "folder" / "file", other / "file")
        os.rename(place, tmp_path / "away")
        place.symlink_to(target)

    with Roots([root]).limiting():
        assert files.read_file(str(root / "folder" / "file")) == b"folder"
        monkeypatch.setattr(roots_module, "reach", reach_slowly)
        with pytest.raises(OutsideRootsError):
            files.read_file(str(root / "folder" / "file"))


def test_a_named_pipe_stops_no_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with Roots([tmp_path]).limiting(), pytest.raises(OSError, match="not a file"):
        files.read_file(str(tmp_path / "pipe.jpg"))


def test_hidden_folders_are_written_to_where_they_were_allowed_alone(client: Client, folder: Path) -> None:
    (folder / ".settings" / "deep").mkdir(parents=True)
    for place in (".settings", ".settings/deep", "cats/../.settings"):
        error = client.error("save", path=f"{place}/mine", overwrite=True)
        assert error["code"] == "outside" and ".settings" in error["permission"]["name"]
    allow(client, error["permission"])
    client.call("save", path=".settings/mine")
    assert (folder / ".settings" / "mine.dali.json").exists()
    with client.session.store.permissions.roots.limiting(writes=True):
        reach_to_write(folder / ".settings" / "x.ppm")
        (folder / ".other").mkdir()
        with pytest.raises(OutsideRootsError):
            reach_to_write(folder / ".other" / "x.ppm")


@pytest.mark.parametrize("content", ['{"ServerApp": {}}', "[]", "no JSON", '{"nodes": 1}'])
def test_files_of_other_programs_are_not_written_over(client: Client, folder: Path, content: str) -> None:
    (folder / "settings.json").write_text(content)
    error = client.error("save", path="settings.json", overwrite=True)
    assert "is no graph" in error["message"]
    assert (folder / "settings.json").read_text() == content
    (folder / "settings.json").write_text("")
    client.call("save", path="settings.json", overwrite=True)
    client.call("save", path="settings.json", overwrite=True)


def test_previews_write_nothing(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    client.session.replace(document(folder, dump={"op": "dump_image", "inputs": ["decode"]}))
    assert client.preview()["dump"]["outputs"]
    assert not list(folder.glob("*.ppm"))
    client.send("run", run=50, batches=1)
    assert client.event("run.done")["status"] == "done"
    assert list(folder.glob("*.ppm")), "a real run does what the operator says"


def test_a_run_writes_in_the_roots(
    client: Client, folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(outside)
    client.session.replace(document(folder, dump={"op": "dump_image", "inputs": ["decode"]}))
    client.send("run", run=50, batches=1)
    assert client.event("run.done")["status"] == "failed"
    assert not list(outside.glob("*.ppm"))


def test_pipelines_of_the_process_are_not_limited(tmp_path: Path, folder: Path) -> None:
    from dali_lab.graph.graph import Graph, Node
    from dali_lab.studio.hosts.widget import _session_of

    with Roots([tmp_path / "nothing"]).limiting(), pytest.raises(OutsideRootsError):
        reach(folder)
    reach(folder)
    reader = Node("reader", "readers.file", "cpu", (), {"file_root": str(folder)})
    session = _session_of(Graph({"reader": reader}), [])
    try:
        assert session.store.permissions.roots.reads(folder), "a program of the person named it"
    finally:
        session.close()


def test_roots_of_the_app(folder: Path, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(outside / "cats")

    def roots(**options: Any) -> tuple[str, ...]:
        session = start_session(recovery=Recovery(tmp_path / "kept"), **options)
        session.close()
        return session.store.permissions.roots.folders

    assert roots() == (str(outside / "cats"), str(home))
    assert roots(data=str(folder)) == (str(outside / "cats"), str(home), str(folder))
    assert roots(roots=[str(folder)]) == (str(folder),)
    assert roots(roots=[str(folder)], graph=str(outside / "theirs.dali.json")) == (str(folder), str(outside))
    with pytest.raises(DaliLabError, match="there is no folder"):
        roots(roots=[str(tmp_path / "nowhere")])
    monkeypatch.chdir("/")
    assert roots() == (str(home),), "a whole file system is no root unless it is asked for"
    assert roots(roots=["/"]) == ("/",)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_files_are_written_at_once_and_links_not_followed(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "a" / "b").mkdir(parents=True)
    other.mkdir()
    target = root / "a" / "b" / "file"
    write_below(root, target, b"one")
    target.chmod(0o640)
    write_below(root, target, b"two")
    assert read_below(root, target) == b"two" and target.stat().st_mode & 0o777 == 0o640
    assert list(target.parent.iterdir()) == [target], "no temporary file stays"
    (root / "link").symlink_to(other)
    (root / "file").symlink_to(other / "file")
    for path in (root / "link" / "x", root / "file", root / "a" / ".." / "x", root, root / "a", root / "no" / "x"):
        with pytest.raises(FormatError):
            write_below(root, path, b"x")
        with pytest.raises(FormatError):
            read_below(root, path)
    assert not list(other.iterdir())


def test_a_named_pipe_stops_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dali.json")
    with pytest.raises(FormatError, match="not a file"):
        read_below(tmp_path, tmp_path / "pipe.dali.json")
    with pytest.raises(FormatError, match="not a file"):
        write_below(tmp_path, tmp_path / "pipe.dali.json", b"x")


def test_a_link_that_comes_while_saving_is_not_followed(open_session: Open, tmp_path: Path) -> None:
    """Another process swaps the folder for a link out of the root, back and forth, while a client saves."""
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "folder").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(other)
    client = Client(open_session(root=root, permissions=Permissions(Roots([root]))))
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                os.rename(root / "folder", tmp_path / "away")
                os.rename(tmp_path / "link", root / "folder")
            with contextlib.suppress(OSError):
                os.rename(root / "folder", tmp_path / "link")
                os.rename(tmp_path / "away", root / "folder")

    thread = threading.Thread(target=swap)
    thread.start()
    saved = refused = 0
    try:
        for _ in range(3000):
            answer = client.response(client.send("save", path="folder/graph", overwrite=True))
            saved += "result" in answer
            refused += "error" in answer
            if saved >= 20 and refused >= 20:
                break
    finally:
        stop.set()
        thread.join()
    assert saved and refused, "the race was won by both sides"
    assert not list(other.iterdir())


def test_stores_are_read_where_they_are_allowed_alone() -> None:
    fsspec = pytest.importorskip("fsspec", reason="remote files")
    from dali_lab.io.remote.parts import FileParts, Part

    system = fsspec.filesystem("memory")
    system.pipe("/kept/a", b"content")
    url = "memory://kept/a"
    parts = FileParts([url, "/etc/passwd"])
    roots = Roots([])
    with roots.limiting():
        for read in (files.read_file, files.open_file, files.list_folder):
            with pytest.raises(OutsideRootsError):
                read(url)
        assert isinstance(files.infos([url])[0], OutsideRootsError)
        parts.request([Part(0), Part(1)])
        assert [type(answer) for answer in parts.take([Part(0), Part(1)])] == [OutsideRootsError, OutsideRootsError]
        roots.allow_server("memory://kept")
        assert files.read_file(url) == b"content"
        data, refused = parts.take([Part(0), Part(1)])
        assert not isinstance(data, OSError) and bytes(data) == b"content"
        assert isinstance(refused, OutsideRootsError)
    system.store.clear()
