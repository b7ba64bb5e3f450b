"""Whole small objects are read by libcurl, and everything unusual is left to the library of stores."""

from __future__ import annotations

import datetime
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pytest

from dali_lab.io.remote import aws, requests
from dali_lab.io.remote.object_store import ObjectStore
from dali_lab.io.remote.parts import FileParts, Part
from dali_lab.io.remote.small_objects import SmallObjects
from dali_lab.io.remote.store import Info
from tests.servers.faults import proxy
from tests.servers.made_up import made_up
from tests.servers.s3 import S3
from tests.servers.web import dead_address

pytest.importorskip("pycurl")

KEYS = {"a/1.png": b"one" * 900, "b=2/2.png": b"", "c/.hidden": b"three", "d e/4.png": b"four", "e.png": b"5" * 300_000}


def whole(*keys: str) -> list[tuple[str, int, int]]:
    """Requests for whole objects."""
    return [(key, 0, -1) for key in keys]


@pytest.mark.parametrize("token", [None, "for/an=hour"])
def test_signatures_are_those_of_amazons_library(token: str | None) -> None:
    auth = pytest.importorskip("botocore.auth")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = {"access_key_id": "who", "secret_access_key": "secret/with+signs:and"}
    found = {"region": "eu-west-3", **keys, **({"session_token": token} if token else {})}
    with answering(USUAL) as server:
        small = SmallObjects(server.address, "/bucket/", aws.signing(found), 30.0, 1 << 20)
        assert dict(small.read(whole("year=2026/a_b-c.jpg"), threading.Semaphore()))[0] is not None
    head, *lines = server.requests[0].decode().split("\r\n")
    said = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    theirs = AWSRequest("GET", f"{server.address}{head.split()[1]}")
    signed = re.findall("SignedHeaders=([^,]+)", said["authorization"])[0].split(";")
    assert ("x-amz-security-token" in signed) is bool(token)
    for name in signed:
        theirs.headers[name] = said[name]
    theirs.context["timestamp"] = said["x-amz-date"]
    moment = datetime.datetime.strptime(said["x-amz-date"], "%Y%m%dT%H%M%SZ")
    assert abs(moment - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(minutes=5)
    signer = auth.S3SigV4Auth(Credentials(keys["access_key_id"], keys["secret_access_key"], token), "s3", "eu-west-3")
    signature = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
    assert said["authorization"].endswith(f"Signature={signature}")


def test_objects_and_versions_are_those_of_the_library(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    server.client.create_bucket(Bucket="small")
    for key, content in KEYS.items():
        server.client.put_object(Bucket="small", Key=key, Body=content)
    with proxy(server.address) as between, server.account(monkeypatch, between.address):
        store = requests.store_of("s3://small/a")[0]
        found = dict(store.small(whole(*KEYS), threading.Semaphore(2)))
        assert len(between.requests) == len(KEYS) - 2, "keys that libraries may write differently are left to it"
        for index, key in enumerate(KEYS):
            if found[index] is not None:
                assert found[index] == store.get(key, 0, -1)
        assert sorted(index for index in found if found[index] is None) == [1, 2, 3]
        parts = FileParts([f"s3://small/{key}" for key in KEYS])
        assert [bytes(data) for data in parts.take([Part(i) for i in range(5)])] == list(KEYS.values())  # type: ignore[arg-type]
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        through = ObjectStore("s3", "small", 5.0)
        assert dict(through.small(whole("a/1.png"), threading.Semaphore())) == {0: None}, (
            "obstore has rules for proxies"
        )


def test_a_dead_server_is_left_alone() -> None:
    with dead_address() as address:
        dead = SmallObjects(address, "/", None, 30.0, 1 << 20)
        assert dict(dead.read(whole("key") * 9, threading.Semaphore(9))) == dict.fromkeys(range(9))
        assert not dead._takes("key")


def test_connections_are_used_again() -> None:
    """A group of requests opens no more connections than it has requests, and the next group none."""
    with made_up(5, b"content") as server, proxy(server.address) as between:
        small = SmallObjects(between.address, "/bucket/", None, 30.0, 1 << 20)
        for _ in range(4):
            found = dict(small.read(whole(*map(server.key, range(5))), threading.Semaphore(9)))
            assert [bytes(each[0]) for each in found.values() if each is not None] == [b"content"] * 5
        assert between.connections <= 5


def test_requests_that_nobody_waits_for_any_more_give_their_slots_back() -> None:
    with answering(b"") as server:
        small = SmallObjects(server.address, "/", None, 30.0, 1 << 20)
        slots = threading.Semaphore(3)
        reading = small.read(whole("key", "key", "no plain key"), slots)
        assert next(reading) == (2, None)
        reading.close()
        assert all(slots.acquire(blocking=False) for _ in range(3))


class Answering(NamedTuple):
    """A server that runs: its URL, and the heads of the requests so far."""

    address: str
    requests: list[bytes]


@contextmanager
def answering(answer: bytes) -> Iterator[Answering]:
    """A server that gives the same bytes to each request; with none it waits."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    kept.append(connection)
                    requests.append(connection.recv(65536))
                    connection.sendall(answer)
                    if answer:
                        connection.shutdown(socket.SHUT_WR)

        kept: list[socket.socket] = []
        requests: list[bytes] = []
        threading.Thread(target=serve, daemon=True).start()
        yield Answering(f"http://127.0.0.1:{listening.getsockname()[1]}", requests)
        listening.shutdown(socket.SHUT_RDWR)
        for connection in kept:
            connection.close()


HEAD = b'HTTP/1.1 206 Partial Content\r\nETag: "tag"\r\n'
RANGE = b"Content-Range: bytes 0-3/4\r\n"
FOUR = b"Content-Length: 4\r\n\r\nbody"
USUAL = HEAD + RANGE + FOUR
UNUSUAL = {
    "nothing": b"",
    "not http": b"SSH-2.0\r\n\r\n",
    "redirect": b'HTTP/1.1 302 Found\r\nETag: "tag"\r\nLocation: file:///etc/passwd\r\n' + RANGE + FOUR,
    "missing": b'HTTP/1.1 404 Not Found\r\nETag: "tag"\r\n' + RANGE + FOUR,
    "no range": b'HTTP/1.1 200 OK\r\nETag: "tag"\r\n' + FOUR,
    "a status of another kind": b'HTTP/1.1 200 OK\r\nETag: "tag"\r\n' + RANGE + FOUR,
    "no tag": b"HTTP/1.1 206 Partial Content\r\n" + RANGE + FOUR,
    "two tags": HEAD + b'ETag: "other"\r\n' + RANGE + FOUR,
    "no length": HEAD + RANGE + b"\r\nbody",
    "two lengths": HEAD + RANGE + b"Content-Length: 4\r\nContent-Length: 2\r\n\r\nbody",
    "no number": HEAD + RANGE + b"Content-Length: -4\r\n\r\nbody",
    "huge": HEAD + RANGE + b"Content-Length: 999999999999\r\n\r\nbody",
    "pieces": HEAD + RANGE + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nbody",
    "whole pieces": HEAD + RANGE + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    "a part": HEAD + b"Content-Range: bytes 0-3/9\r\n" + FOUR,
    "another part": HEAD + b"Content-Range: bytes 4-7/8\r\n" + FOUR,
    "no size": HEAD + b"Content-Range: bytes 0-3/*\r\n" + FOUR,
    "two ranges": HEAD + RANGE + RANGE + FOUR,
    "compressed": HEAD + RANGE + b"Content-Encoding: gzip\r\n" + FOUR,
    "a web page": HEAD + b"Content-Range: bytes 0-5/6\r\nContent-Length: 6\r\n\r\n<HTML>",
    "short": HEAD + RANGE + b"Content-Length: 5\r\n\r\nbody",
    "no end": HEAD + RANGE + b"x-filling: " + b"x" * 1_000_000,
}


@pytest.mark.parametrize("answer", UNUSUAL.values(), ids=list(UNUSUAL))
def test_unusual_answers_are_left_to_the_library(answer: bytes) -> None:
    with answering(answer) as server:
        small = SmallObjects(server.address, "/", None, 0.5 if not answer else 30.0, 1 << 20)
        slots = threading.Semaphore(1)
        assert sorted(small.read(whole("key", "key"), slots)) == [(0, None), (1, None)]
        assert slots.acquire(blocking=False), "the slot is free again"


def test_the_usual_answer() -> None:
    usual = HEAD + b"Connection: close\r\ncontent-length: 4\r\ncontent-range: bytes 0-3/4\r\n\r\nbody"
    with answering(usual) as server:
        small = SmallObjects(server.address, "/", None, 30.0, 4)
        assert list(small.read(whole("key"), threading.Semaphore())) == [(0, (b"body", Info(4, '"tag"')))]


def test_parts() -> None:
    """A part is that of the range, cut at the end of the object, and the object's size is known from it."""
    with made_up(1, bytes(range(100))) as server:
        small = SmallObjects(server.address, "/bucket/", None, 30.0, 1 << 20)
        key = server.key(0)
        wanted = [(key, 0, -1), (key, 10, 20), (key, 90, 20), (key, 0, 1)]
        found = dict(small.read(wanted, threading.Semaphore(9)))
        infos = {each[1] for each in found.values() if each is not None}
        assert infos == {Info(100, '"0"')}
        contents = [bytes(found[index][0]) for index in range(4)]  # type: ignore[index]
        whole_content = bytes(range(100))
        assert contents == [whole_content, whole_content[10:30], whole_content[90:], whole_content[:1]]


def test_a_group_of_requests_takes_no_more_slots_than_there_are(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads with more requests each than there are slots do not wait for one another for ever."""
    monkeypatch.setenv("DALI_LAB_REMOTE_REQUESTS", "3")
    monkeypatch.setattr(requests, "_threads", None)
    server.client.create_bucket(Bucket="slots")
    server.client.put_object(Bucket="slots", Key="a", Body=b"content")
    with proxy(server.address) as between, server.account(monkeypatch, between.address):
        between.delay = 0.002
        parts = FileParts(["s3://slots/a"])

        def take(_: Any) -> list[bytes]:
            return [bytes(data) for data in parts.take([Part(0)] * 40)]  # type: ignore[arg-type]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(take, range(4))) == [[b"content"] * 40] * 4
        assert between.most <= 3
