"""Graphs with URLs: no credentials are written, and the app opens and lists folders of stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dali_lab
from dali_lab import fn
from dali_lab.errors import DaliLabError, FormatError
from dali_lab.formats import FORMATS, dumps, loads
from dali_lab.io.locations import canonical, credentials_in, is_remote, join, shown
from dali_lab.studio.document.folders import remote_listing
from dali_lab.studio.hosts.application import start_session

SECRETS = [
    "https://person:5ecret@data.example/train",
    "s3://key:5ecret@bucket/train",
    "https://bucket.s3.amazonaws.com/train?X-Amz-Credential=a&X-Amz-Signature=5ecret",
    "https://account.blob.core.windows.net/train?sv=2026&sig=5ecret",
    "https://data.example/train?access_token=5ecret",
    "https://person:with@5ecret@data.example/train",
    "https://data.example/train?version=3&key=5ecret",
]


@pytest.mark.parametrize("url", SECRETS)
def test_credentials_are_found_and_not_shown(url: str) -> None:
    assert credentials_in(url)
    assert "5ecret" not in shown(f"cannot read '{url}': it does not exist")


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/a@b/c.jpg", "abfss://container@account.dfs.core.windows.net/a", "https://data.example/a?keys=3"],
)
def test_plain_urls_hold_no_credentials(url: str) -> None:
    assert not credentials_in(url)
    assert shown(url) == url


@pytest.mark.parametrize("url", SECRETS)
def test_no_form_of_a_graph_is_written_with_credentials(url: str) -> None:
    pipe = dali_lab.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_root=url))
    for form in FORMATS:
        with pytest.raises(FormatError, match="'file_root' of the node") as caught:
            dumps(pipe.graph, form)
        assert "5ecret" not in str(caught.value)
    with pytest.raises(FormatError):
        pipe.serialize()


def test_a_graph_with_a_url_is_written_and_read() -> None:
    pipe = dali_lab.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_root="s3://bucket/train"))
    for form in ("json", "python", "dali-serialized"):
        graph = loads(dumps(pipe.graph, form))
        assert [node.arguments["file_root"] for node in graph.nodes.values()] == ["s3://bucket/train"]


def test_paths_and_urls_are_told_apart(tmp_path: Path) -> None:
    assert [is_remote(path) for path in ("S3://a/b", "zip://x::s3://a/b.zip", "a/b", "c:/d", "file:///a", "a:b")] == [
        True, True, False, False, False, False
    ]  # fmt: skip
    assert canonical("FILE:///a%20b/c") == "/a b/c"
    assert canonical("S3://Bucket/Key") == "s3://Bucket/Key"
    assert join("s3://bucket/a/", "b") == "s3://bucket/a/b"
    assert join("s3://bucket/a", "gs://other/b") == "gs://other/b"
    assert join(str(tmp_path), "s3://bucket/b") == "s3://bucket/b"
    assert join("file:///a%20b", "50%25.png") == "/a b/50%25.png"
    assert join("HTTPS://host/a%20b", "c d/50%.png") == "https://host/a%20b/c d/50%25.png"


@pytest.fixture
def stored() -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("cats/1.png", "cats/2.png", "dogs/3.png", "notes.txt"):
        system.pipe(f"/pets/train/{name}", name.encode())
    yield "memory://pets/train"
    system.store.clear()


def test_the_chooser_walks_through_a_store(stored: str) -> None:
    found = remote_listing(stored + "/")
    assert [(entry.name, entry.kind, entry.path) for entry in found.entries] == [
        ("cats", "folder", f"{stored}/cats"),
        ("dogs", "folder", f"{stored}/dogs"),
        ("notes.txt", "file", f"{stored}/notes.txt"),
    ]
    assert found.parent == "memory://pets"
    assert remote_listing(found.parent).parent is None
    assert [entry.size for entry in remote_listing(f"{stored}/cats", ("image",)).entries] == [10, 10]


def test_the_app_begins_with_a_folder_of_a_store(stored: str) -> None:
    session = start_session(data=stored)
    try:
        assert session.store.title == "train"
        assert session.store.document["nodes"]["reader"]["arguments"]["file_root"] == stored
        assert session.store.permissions.roots.reads(f"{stored}/cats/1.png")
        assert not session.store.permissions.roots.reads("s3://other/1.png")
    finally:
        session.close()


def test_the_app_says_why_a_store_cannot_be_read(stored: str) -> None:
    with pytest.raises(DaliLabError, match=r"cannot list the folder 'memory://nobody/train': it does not exist"):
        start_session(data="memory://nobody/train")
