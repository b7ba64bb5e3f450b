"""Files and labels compared with NVIDIA DALI's file reader, live."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab.errors import ArgumentError
from dali_lab.io.locations import join, join_all
from dali_lab.operators.readers.file_list import find_files, matcher
from dali_lab.operators.readers.whole_files import Paths

dali = pytest.importorskip("nvidia.dali")

FILES = [
    "b/1.jpg", "b/10.jpg", "b/2.JPG", "b/Z.png", "b/a.png", "b/.hidden.jpg", "b/[x].png", "b/x*.png", "b/ space.jpg",
    "B/x.jpeg", "a/sub/deep.jpg", "a/y.txt", "a/noext", "a/z.jpg", ".hidden/h.jpg", "c.jpg", "10/q.jpg", "9/q.jpg",
    "é/q.jpg", "é/ü.jpg", "_u/q.bmp", "only text/readme.md", "z/w.wav", "z/w.tiff", "z/n.npy", "z/v.mp4", "z/f.flac",
    "z/g.gif", "z/o.ogg", "z/p.webp", "z/j.jp2", "z/pp.ppm", "z/k.pnm", "z/t.TIF", "z/-.png", "z/^.png", "z/].png",
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("files")
    for name in FILES:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(name)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to(folder / "b")
    (folder / "a" / "link.jpg").symlink_to(folder / "b" / "1.jpg")
    (folder / "b" / "folder.jpg").mkdir()
    os.mkfifo(folder / "b" / "fifo.jpg")
    return str(folder)


def dali_files(**arguments: Any) -> list[tuple[int, str]]:
    pipe = dali.Pipeline(1, 1, None)
    with pipe:
        data, label = dali.fn.readers.file(name="reader", **arguments)
        pipe.set_outputs(label, dali.fn.get_property(data, key="source_info"))
    pipe.build()
    result = []
    for _ in range(pipe.epoch_size("reader")):
        labels, sources = pipe.run()
        result.append((int(np.array(labels.at(0))[0]), bytes(np.array(sources.at(0))).decode()))
    return result


def our_files(**arguments: Any) -> list[tuple[int, str]]:
    found = find_files(**arguments)
    assert found.labels.dtype == np.int32
    assert all(os.path.isfile(path) for path in found.paths)
    return list(zip(found.labels.tolist(), found.names, strict=True))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"case_sensitive_filter": True},
        {"file_filters": ["*.jpg"]},
        {"file_filters": ["*.jpg"], "case_sensitive_filter": True},
        {"file_filters": ["*.png", "*.jpg", "*"]},
        {"file_filters": ["[0-9]*"]},
        {"file_filters": ["[^0-9]*", "1*"]},
        {"file_filters": ["[!a-z]*"], "case_sensitive_filter": True},
        {"file_filters": ["[[:upper:]]*", "[[:digit:]][!.]*"], "case_sensitive_filter": True},
        {"file_filters": ["[]x-]*", "[a\\-z].png"]},
        {"file_filters": ["?.*"]},
        {"file_filters": [".*"]},
        {"file_filters": ["x\\*.png", "\\[x].png", "[[]x*"]},
        {"file_filters": ["q**.jpg", "[", "[x.png"]},
        {"file_filters": ["Q.J?G"]},
        {"file_filters": ["*[0-9]*.*p*"]},
        {"dir_filters": ["b", "[0-9]*"]},
        {"dir_filters": ["B"], "case_sensitive_filter": True},
        {"dir_filters": ["é", "Z"], "file_filters": ["?.jpg", "w.*"]},
    ],
    ids=str,
)
def test_folders(root: str, arguments: dict[str, Any]) -> None:
    assert our_files(file_root=root, **arguments) == dali_files(file_root=root, **arguments)


def test_patterns_take_no_time() -> None:
    assert not matcher(["*a" * 40 + "*b"], True)("a" * 250)
    with pytest.raises(ArgumentError, match="limit"):
        matcher(["*.jpg", "x" * 10**6], False)


def test_root_with_slash_and_relative(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    for name in (root + "/", "."):
        assert our_files(file_root=name) == dali_files(file_root=name)


@pytest.mark.parametrize(
    "text",
    [
        "b/1.jpg 3\nb/2.JPG 5\n",
        "b/1.jpg 3\r\nb/2.JPG\t5  \n\n  \nb/a.png 007",
        "b/ space.jpg 1\nb/1.jpg   2147483647\n",
    ],
)
@pytest.mark.parametrize("with_root", [False, True])
def test_list(root: str, tmp_path: Path, text: str, with_root: bool) -> None:
    path = Path(root) / "list.txt" if not with_root else tmp_path / "list.txt"
    path.write_bytes(text.encode())
    arguments = {"file_list": str(path), **({"file_root": root} if with_root else {})}
    try:
        assert our_files(**arguments) == dali_files(**arguments)
    finally:
        path.unlink()


def test_list_with_absolute_names_and_in_the_working_folder(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list.txt").write_text(f"{root}/b/1.jpg 3\nnext.jpg 4\n")
    (tmp_path / "next.jpg").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert our_files(file_list="list.txt") == dali_files(file_list="list.txt")


def test_given_files(root: str) -> None:
    for arguments in (
        {"files": ["b/a.png", f"{root}/b/1.jpg", "b/a.png"], "file_root": root},
        {"files": ["b/a.png", "b/1.jpg"], "labels": [5, -6], "file_root": root},
        {"files": [f"{root}/b/1.jpg"]},
    ):
        assert our_files(**arguments) == dali_files(**arguments)  # type: ignore[arg-type]


def test_without_labels_from_folders(root: str) -> None:
    found = find_files(file_root=root, file_filters=["c.jpg", "1.jpg"], label_folders=False)
    assert found.names == ["./c.jpg", "b/1.jpg", "link/1.jpg"]
    assert found.paths[0] == f"{root}/c.jpg"
    assert found.labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "argument", "words"),
    [
        ({}, "file_root", "give the folder"),
        ({"file_root": "/nowhere"}, "file_root", "'/nowhere'.*does not exist"),
        ({"file_root": ""}, "file_root", "does not exist"),
        ({"file_root": __file__}, "file_root", "a file, not a folder"),
        ({"file_root": "ROOT/empty"}, "file_root", "no folder is in it"),
        ({"file_root": "ROOT", "dir_filters": ["nothing"]}, "file_root", "no folder matches 'dir_filters'"),
        ({"file_root": "ROOT", "file_filters": ["*.nothing"]}, "file_root", "No files found: none in .* matches"),
        ({"file_root": "ROOT", "file_filters": []}, "file_filters", "empty"),
        ({"file_root": "ROOT", "dir_filters": []}, "dir_filters", "empty"),
        ({"file_list": ""}, "file_list", "empty name"),
        ({"file_list": "/nowhere/list.txt"}, "file_list", "'/nowhere/list.txt'.*does not exist"),
        ({"file_list": "ROOT"}, "file_list", "a folder, not a file"),
        ({"files": []}, "files", "empty"),
        ({"files": ["a"], "labels": [1, 2]}, "labels", "2 labels for 1 files"),
        ({"files": ["a"], "labels": [2**31]}, "labels", "32 bits"),
        ({"labels": [1], "file_root": "ROOT"}, "labels", "'files'"),
        ({"files": ["a"], "file_list": "x"}, "files", "file_list"),
    ],
    ids=str,
)
def test_errors(root: str, arguments: dict[str, Any], argument: str, words: str) -> None:
    given = {k: v.replace("ROOT", root) if isinstance(v, str) else v for k, v in arguments.items()}
    with pytest.raises(ArgumentError, match=words) as caught:
        find_files(**given)
    assert caught.value.argument == argument


@pytest.mark.parametrize("line", ["b/1.jpg", "b/1.jpg -3", "b/1.jpg 3.5", "3", "b/1.jpg3", "b/1.jpg 3 # note"])
def test_wrong_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"ok.jpg 1\n\n{line}\n")
    with pytest.raises(ArgumentError, match=r"line 3 of '.*list.txt' must be") as caught:
        find_files(file_list=str(path))
    assert line in str(caught.value)
    with pytest.raises(RuntimeError, match="Incorrect format"):
        dali_files(file_list=str(path))


def test_empty_list_and_large_label(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("\n \n")
    with pytest.raises(ArgumentError, match="has no lines"):
        find_files(file_list=str(path))
    path.write_text("a.jpg 2147483648\n")
    with pytest.raises(ArgumentError, match="32 bits"):
        find_files(file_list=str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir(mode=0)
    with pytest.raises(ArgumentError, match=r"class'.*no permission"):
        find_files(file_root=str(tmp_path))


@pytest.mark.parametrize(("target", "words"), [("gone", "a link to what does not exist"), ("b", "symbolic links")])
def test_a_link_that_leads_nowhere_might_be_a_class(tmp_path: Path, target: str, words: str) -> None:
    for name in "ac":
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jpg").touch()
    (tmp_path / "b").symlink_to(target)
    with pytest.raises(ArgumentError, match=rf"b' is a folder: .*{words}"):
        find_files(file_root=str(tmp_path))
    with pytest.raises(RuntimeError, match="Could not access"):
        dali_files(file_root=str(tmp_path))


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name in (b"\xff.jpg", b"a.jpg", "é.jpg".encode(), "\U0001f600.jpg".encode()):
        Path(os.fsdecode(os.fsencode(str(tmp_path / "class")) + b"/" + name)).write_text("x")
    found = find_files(file_root=str(tmp_path))
    assert [os.fsencode(os.path.basename(name)) for name in found.names] == [
        b"a.jpg", "é.jpg".encode(), "\U0001f600.jpg".encode(), b"\xff.jpg",
    ]  # fmt: skip


def test_ten_thousand_files_take_little_time(tmp_path: Path) -> None:
    for folder in range(10):
        (tmp_path / f"class{folder}").mkdir()
        for number in range(1000):
            (tmp_path / f"class{folder}" / f"{number}.jpg").touch()
    began = time.thread_time()
    found = find_files(file_root=str(tmp_path))
    assert len(found.paths) == 10_000
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("folder", ["", "a", "a/", "/", "file:///x y", "s3://b/c/", "http://h/?q", "c://"])
def test_many_names_in_a_folder(folder: str) -> None:
    names = ["", "x", "/x", "s3://b", "file:///k", "a#b?", "c://", "d:/x"]
    assert join_all(folder, names) == [join(folder, name) for name in names]


@pytest.mark.parametrize(
    "names", [[], ["a"], ["a", "é", "\udcff"], ["a\0b", "c"], ["", "x"], ["", ""], ["a", "\ud800", "b"]]
)
def test_paths_for_compiled_code(names: list[str]) -> None:
    """A name that the system cannot take is an empty one."""
    paths = Paths(names)
    given = [ctypes.string_at(int(address)) for address in paths.addresses]
    assert given == [b"" if "\0" in name or "\ud800" in name else os.fsencode(name) for name in names]
