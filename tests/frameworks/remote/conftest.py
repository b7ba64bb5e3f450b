"""One S3 server for all tests of a worker, and a cache folder of each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.s3 import S3, s3_server


@pytest.fixture(scope="session")
def server() -> Iterator[S3]:
    """An S3 server."""
    with s3_server() as found:
        yield found


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """The S3 server, with an account in the environment."""
    with server.account(monkeypatch) as found:
        yield found


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection or setting of another test is used."""
    from dali_lab.io.remote import requests

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(requests, "_stores", {})
    monkeypatch.setattr(requests, "_FIRST_WAIT", 0.001)
