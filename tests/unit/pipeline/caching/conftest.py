"""Pictures, and a place for their cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab.executor.caching import written_store
from tests.unit.pipeline.caching.graphs import COUNT, write_picture


@pytest.fixture(autouse=True)
def any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no slow disk: the cache is read however long it takes."""
    monkeypatch.setattr(written_store, "_PATIENCE", float("inf"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for index in range(COUNT):
        write_picture(tmp_path / "files" / "ab"[index % 2] / f"{index:02}.jpg", index)
    return tmp_path / "files"


@pytest.fixture(params=["memory", "folder"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path / "cache")
