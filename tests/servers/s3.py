"""An S3 server in this process: moto's, on a free port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "for-tests-alone",
    "AWS_REGION": "us-east-1",
}


class S3:
    """The server.

    Attributes
    ----------
    address
        Its URL.
    client
        A client of Amazon's library.
    """

    def __init__(self, address: str) -> None:
        import boto3

        self.address = address
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=address,
            aws_access_key_id=ACCOUNT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ACCOUNT["AWS_SECRET_ACCESS_KEY"],
            region_name="us-east-1",
        )

    def upload(self, folder: Path, bucket: str, replace: tuple[str, str] | None = None) -> str:
        """Copy a folder into a new bucket; answers with its URL. `replace` changes a text within text files."""
        self.client.create_bucket(Bucket=bucket)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                if replace is not None and path.suffix in (".json", ".txt"):
                    content = content.replace(replace[0].encode(), replace[1].encode())
                self.client.put_object(Bucket=bucket, Key=path.relative_to(folder).as_posix(), Body=content)
        return f"s3://{bucket}"

    @contextmanager
    def account(self, monkeypatch: pytest.MonkeyPatch, address: str | None = None) -> Iterator[S3]:
        """The environment by which programs find the server, through another address if one is given."""
        with monkeypatch.context() as patch:
            for name, value in ACCOUNT.items():
                patch.setenv(name, value)
            patch.setenv("AWS_ENDPOINT_URL", address or self.address)
            patch.delenv("AWS_SESSION_TOKEN", raising=False)
            yield self


@contextmanager
def s3_server() -> Iterator[S3]:
    """An S3 server without buckets."""
    pytest.importorskip("moto", reason="the S3 server of these tests (pip install 'moto[s3]' flask-cors)")
    pytest.importorskip("obstore", reason="the client (pip install dali-lab[remote])")
    import logging

    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()
