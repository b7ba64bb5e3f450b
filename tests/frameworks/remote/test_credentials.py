"""Credentials of S3 come from where Amazon's tools keep them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dali_lab.io import files
from dali_lab.io.remote.store import StoreError
from tests.servers.s3 import S3


@pytest.fixture
def url(server: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    """An object, with an environment that knows nothing of Amazon."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server.client.create_bucket(Bucket="credentials")  # again is no error in this region
    server.client.put_object(Bucket="credentials", Key="a", Body=b"content")
    return "s3://credentials/a"


def keep_profile(server: S3) -> None:
    folder = Path.home() / ".aws"
    folder.mkdir(parents=True)
    (folder / "credentials").write_text("[work]\naws_access_key_id = x\naws_secret_access_key = y\n")
    (folder / "config").write_text(f"[profile work]\nregion = eu-west-1\nendpoint_url = {server.address}\n")


def test_a_profile_of_the_tools(server: S3, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_profile(server)
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert files.read_file(url) == b"content"


def test_a_profile_that_is_not_there(server: S3, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_profile(server)
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(StoreError, match=r"settings of Amazon's tools cannot be used: .*other"):
        files.read_file(url)


def test_the_environment_with_a_token(server: S3, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.account(monkeypatch):
        monkeypatch.setenv("AWS_SESSION_TOKEN", "for-an-hour")
        assert files.read_file(url) == b"content"


def test_without_credentials_public_objects_are_read(server: S3, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    with pytest.raises(StoreError, match="to requests without credentials, and none were found"):
        files.read_file(url)
    server.client.put_object(Bucket="credentials", Key="public", Body=b"for all", ACL="public-read")
    assert files.read_file("s3://credentials/public") == b"for all"
