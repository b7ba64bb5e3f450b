"""The app's first document, the sample photographs, and its address."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from dali_lab.errors import DaliLabError
from dali_lab.gallery.samples import photographs
from dali_lab.schema.families import FAMILIES
from dali_lab.studio.catalogue import catalogue
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.document.validation import check
from dali_lab.studio.hosts.application import start_session


def test_sample_photographs_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = photographs()
    files = sorted(folder.rglob("*.jpg"))
    assert len(files) == 13
    assert len({path.parent.name for path in files}) == 7
    for path in files:
        assert max(cv2.imread(str(path)).shape[:2]) <= 560
    before = [path.stat().st_mtime_ns for path in files]
    assert photographs() == folder
    assert [path.stat().st_mtime_ns for path in files] == before


def test_first_pipeline_is_complete(folder: Path) -> None:
    document = first_pipeline(folder)
    found = check(document)
    assert not found.problems
    assert [node["op"] for node in document["nodes"].values()] == [
        "readers.file", "decoders.image", "resize", "random.uniform", "rotate", "brightness_contrast",
        "crop_mirror_normalize",
    ]  # fmt: skip
    assert not document["view"]["nodes"], "the editor lays it out for its window"


def test_app_opens_what_it_is_given(folder: Path, tmp_path: Path) -> None:
    session = start_session(data=str(folder), recovery=Recovery(tmp_path / "kept"))
    try:
        assert session.store.title == "pictures"
        assert session.store.document["nodes"]["reader"]["arguments"]["file_root"] == str(folder)
        session.store.permissions.roots.allow(tmp_path)
        session.store.save(str(tmp_path / "a"), False)
    finally:
        session.close()
    session = start_session(graph=str(tmp_path / "a.dali.json"), recovery=Recovery(tmp_path / "kept"))
    try:
        assert session.store.title == "a"
        assert not session.store.dirty
    finally:
        session.close()
    with pytest.raises(DaliLabError, match="there is no folder"):
        start_session(data=str(tmp_path / "nowhere"))


def test_catalogue_is_whole() -> None:
    found = catalogue()
    assert {"resize", "readers.file", "decoders.image", "random.uniform"} <= {entry.name for entry in found.operators}
    families = {family.name for family in found.families}
    assert {entry.family for entry in found.operators} == families
    assert families <= {family.name for family in FAMILIES}, "a family without a title, a colour and an icon"
    resize = next(entry for entry in found.operators if entry.name == "resize")
    interpolation = next(arg for arg in resize.arguments if arg.name == "interp_type")
    assert interpolation.type == "enum"
    assert "INTERP_LINEAR" in (interpolation.choices or ())
    for entry in found.operators:
        assert entry.title, entry.name
        assert entry.summary, entry.name
        for arg in entry.arguments:
            assert arg.type in ("float", "int", "bool", "string", "enum", "dtype", "layout", "any"), arg


def test_server_says_when_it_cannot_listen() -> None:
    import socket

    from dali_lab.studio.hosts import app_server

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DaliLabError, match=f"cannot listen on 127.0.0.1, port {port}"):
            app_server.listening("127.0.0.1", port)


def test_a_usual_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from dali_lab.studio.hosts import app_server

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(app_server, "DEFAULT_PORT", taken.getsockname()[1])
        (found,) = app_server.listening("127.0.0.1", 0)
        with found:
            assert found.getsockname()[1] != taken.getsockname()[1]
