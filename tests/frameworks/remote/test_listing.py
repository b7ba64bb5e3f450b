"""Listings of stores: large ones are kept for the next start, and say how far they are."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from dali_lab.io import files
from dali_lab.io.remote import listing
from dali_lab.io.remote.store import StoreError
from tests.servers.faults import proxy
from tests.servers.made_up import made_up
from tests.servers.s3 import ACCOUNT, S3


def test_a_large_listing_is_kept_until_it_is_asked_for_anew(
    server: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(listing, "KEPT_FROM", 3)
    for name in ("b.png", "a.png", "deep/c.png"):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(name.encode())
    with proxy(server.address) as between, server.account(monkeypatch, between.address):
        url = server.upload(tmp_path / "data", "kept-listing")
        names = [("a.png", False), ("b.png", False), ("deep", True)]

        def listed(place: str = url) -> list[tuple[str, bool]]:
            return sorted((entry.name, entry.is_dir()) for entry in files.list_folder(place))

        assert listed() == names
        asked = len(between.requests)
        server.client.put_object(Bucket="kept-listing", Key="d.png", Body=b"new")
        assert listed(f"{url}/") == names
        assert len(between.requests) == asked
        said = r"its listing of \d+ minutes ago is used \(DALI_LAB_LISTINGS=new lists it anew\)"
        assert re.search(said, capsys.readouterr().err)
        monkeypatch.setenv(listing.KEEP, "new")
        assert ("d.png", False) in listed()
        monkeypatch.delenv(listing.KEEP)
        assert ("d.png", False) in listed()
        # Small folders are listed each time.
        assert listed(f"{url}/deep") == [("c.png", False)]
        server.client.put_object(Bucket="kept-listing", Key="deep/e.png", Body=b"new")
        assert len(listed(f"{url}/deep")) == 2


def test_flat_folders_pass_over_what_lies_deeper(s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dali_lab.io.remote import object_store

    monkeypatch.setattr(object_store, "_PAGE", 2)
    names = [f"a/{number}" for number in range(7)] + ["a0", "a1", *(f"b/c/{number}" for number in range(3)), "z"]
    for name in names:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(b"")
    url = s3.upload(tmp_path / "data", "flat-listing")
    found = listing.folder(url, flat=True)
    assert sorted((entry.name, entry.is_folder) for entry in found) == [
        ("a", True), ("a0", False), ("a1", False), ("b", True), ("z", False)
    ]  # fmt: skip


def test_empty_objects_that_stand_for_folders(s3: S3) -> None:
    s3.client.create_bucket(Bucket="marked-folders")
    for key in ("train/", "train/a.png", "train/cat/", "train/cat/b.png", "train/dog/"):
        s3.client.put_object(Bucket="marked-folders", Key=key, Body=b"" if key.endswith("/") else b"x")
    url = "s3://marked-folders/train"
    found = [(entry.name, entry.is_folder) for entry in listing.folder(url)]
    assert sorted(found) == [("a.png", False), ("cat", True), ("dog", True)]
    assert [[entry.name for entry in each] for each in listing.folders([f"{url}/cat", f"{url}/dog"])] == [["b.png"], []]


@pytest.mark.parametrize("flat", [False, True])
def test_a_long_listing_goes_on_where_a_page_failed(monkeypatch: pytest.MonkeyPatch, flat: bool) -> None:
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "2")
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    with made_up(9_500, b"x") as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        answer, asked = store._answer, set[str]()

        def every_page_fails_once(method: str, target: str, head: str) -> bytes:
            place = target.rpartition("continuation-token=")[2].partition("&")[0]
            if place in asked:
                return answer(method, target, head)
            asked.add(place)
            return b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"

        monkeypatch.setattr(store, "_answer", every_page_fails_once)
        found = listing.folder("s3://long-listing/train", flat=flat)
        assert [entry.name for entry in found] == [f"{number:08d}.jpg" for number in range(9_500)]
        assert len(store.requests) < 40


def test_folders_that_are_not_there_are_empty_or_an_error(s3: S3) -> None:
    s3.client.create_bucket(Bucket="empty-one")
    with pytest.raises(StoreError, match="it does not exist, or nothing is in it"):
        listing.folder("s3://empty-one/train")
    assert listing.folders(["s3://empty-one/train"]) == [[]]


def test_a_long_listing_says_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    told = listing.Progress("s3://person:5ecret@bucket/train")
    told.add(1000)
    assert capsys.readouterr().err == ""
    now += 5
    told.add(234)
    assert capsys.readouterr().err == "listing s3://bucket/train: 1,234 entries so far\n"
    told.end()
    assert capsys.readouterr().err == "listed s3://bucket/train: 1,234 entries\n"
