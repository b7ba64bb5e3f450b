"""Whole small objects are read on connections of our own, and everything unusual is left to the library."""

from __future__ import annotations

import datetime
import os
import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from dali_lab.io.remote import aws, connections, requests
from dali_lab.io.remote.connections import Connections
from dali_lab.io.remote.object_store import ObjectStore
from dali_lab.io.remote.parts import FileParts, Part
from dali_lab.io.remote.small_objects import SmallObjects
from tests.servers.faults import proxy
from tests.servers.s3 import S3
from tests.servers.web import free_port

KEYS = {"a/1.png": b"one" * 900, "b=2/2.png": b"", "c/.hidden": b"three", "d e/4.png": b"four", "e.png": b"5" * 300_000}


@pytest.mark.parametrize("token", [None, "for/an=hour"])
def test_signatures_are_those_of_amazons_library(token: str | None) -> None:
    auth = pytest.importorskip("botocore.auth")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = {"access_key_id": "who", "secret_access_key": "secret/with+signs"}
    found = {"region": "eu-west-3", **keys, **({"session_token": token} if token else {})}
    lines = aws.signer("127.0.0.1:8080", found)("/bucket/year%3D2026/a_b-c.jpg")
    said = dict(line.split(":", 1) for line in lines.splitlines())
    theirs = AWSRequest("GET", "http://127.0.0.1:8080/bucket/year%3D2026/a_b-c.jpg")
    for name, value in said.items():
        if name != "Authorization":
            theirs.headers[name] = value
    theirs.context["timestamp"] = said["x-amz-date"]
    moment = datetime.datetime.strptime(said["x-amz-date"], "%Y%m%dT%H%M%SZ")
    assert abs(moment - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(minutes=5)
    signer = auth.S3SigV4Auth(Credentials(keys["access_key_id"], keys["secret_access_key"], token), "s3", "eu-west-3")
    signature = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
    assert said["Authorization"].endswith(f"Signature={signature}")


def test_objects_and_versions_are_those_of_the_library(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    server.client.create_bucket(Bucket="small")
    for key, content in KEYS.items():
        server.client.put_object(Bucket="small", Key=key, Body=content)
    with proxy(server.address) as between, server.account(monkeypatch, between.address):
        store = requests.store_of("s3://small/a")[0]
        found = dict(store.small(list(KEYS), threading.Semaphore(2)))
        assert len(between.requests) == len(KEYS) - 2, "keys that libraries may write differently are left to it"
        for index, key in enumerate(KEYS):
            if found[index] is not None:
                assert found[index] == store.get(key, 0, -1)
        assert [index for index in found if found[index] is None] == [2, 3]
        parts = FileParts([f"s3://small/{key}" for key in KEYS])
        assert [bytes(data) for data in parts.take([Part(i) for i in range(5)])] == list(KEYS.values())  # type: ignore[arg-type]
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        through = ObjectStore("s3", "small", 5.0)
        assert dict(through.small(["a/1.png"], threading.Semaphore())) == {0: None}, "the library knows proxies"


def test_few_connections_are_opened_at_a_time_and_none_to_a_dead_server() -> None:
    """The library, which opens many at once, reads the others meanwhile."""
    with answering(HEAD + b"Content-Length: 4\r\n\r\nbody") as address:
        small = SmallObjects(address, "/", lambda target: "", 30.0, 1 << 20)
        found = dict(small.read(["key"] * 20, threading.Semaphore(9)))
        assert sum(each is not None for each in found.values()) == 8
    dead = SmallObjects(f"http://127.0.0.1:{free_port()}", "/", lambda target: "", 30.0, 1 << 20)
    assert list(dead.read(["key"] * 3, threading.Semaphore(9))) == [(0, None), (1, None), (2, None)]
    assert not dead._takes("key")


def test_a_connection_that_the_server_has_closed_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_FRESH", 0.0)
    with answering(HEAD + b"Content-Length: 4\r\n\r\nbody") as address:
        made = Connections(address, 30.0, 4)
        connection = made.connect()
        request = made.send(connection, "/key", "")
        assert request is not None
        assert made.finish(request) is not None
        assert select.select([connection], [], [], 60)[0], "the server has ended it"
        assert made.kept() is None


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that gives the same bytes to each request; with none it waits."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    kept.append(connection)
                    connection.recv(65536)
                    connection.sendall(answer)
                    if answer:
                        connection.shutdown(socket.SHUT_WR)

        kept: list[socket.socket] = []
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        for connection in kept:
            connection.close()


HEAD = b'HTTP/1.1 200 OK\r\nETag: "tag"\r\n'
UNUSUAL = {
    "nothing": b"",
    "not http": b"SSH-2.0\r\n\r\n",
    "old": HEAD.replace(b"1.1", b"1.0") + b"Content-Length: 4\r\n\r\nbody",
    "redirect": b'HTTP/1.1 302 Found\r\nETag: "tag"\r\nLocation: file:///etc/passwd\r\nContent-Length: 4\r\n\r\nbody',
    "missing": b'HTTP/1.1 404 Not Found\r\nETag: "tag"\r\nContent-Length: 4\r\n\r\nbody',
    "no tag": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
    "no length": HEAD + b"\r\nbody",
    "two lengths": HEAD + b"Content-Length: 4\r\nContent-Length: 2\r\n\r\nbody",
    "no number": HEAD + b"Content-Length: -4\r\n\r\nbody",
    "huge": HEAD + b"Content-Length: 999999999999\r\n\r\nbody",
    "pieces": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nbody",
    "a part": HEAD + b"Content-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\nbody",
    "short": HEAD + b"Content-Length: 5\r\n\r\nbody",
    "long": HEAD + b"Content-Length: 3\r\n\r\nbody",
    "no end": HEAD + b"x-filling: " + b"x" * 100_000,
}


@pytest.mark.parametrize("answer", UNUSUAL.values(), ids=list(UNUSUAL))
def test_unusual_answers_are_left_to_the_library(answer: bytes) -> None:
    with answering(answer) as address:
        small = SmallObjects(address, "/", lambda target: "", 0.5 if not answer else 30.0, 1 << 20)
        slots = threading.Semaphore(1)
        assert sorted(small.read(["key", "key"], slots)) == [(0, None), (1, None)]
        assert slots.acquire(blocking=False), "the slot is free again"


def test_the_usual_answer_and_its_connection() -> None:
    with answering(HEAD + b"Connection: close\r\ncontent-length: 4\r\n\r\nbody") as address:
        made = Connections(address, 30.0, 4)
        request = made.send(made.connect(), "/key", "")
        assert request is not None
        answer = made.finish(request)
        assert answer is not None
        assert (bytes(answer.data), answer.tag) == (b"body", '"tag"')
        assert made.kept() is None


def test_a_forked_process_opens_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one connection two processes would take each other's answers."""
    left, right = socket.socketpair()
    connections = Connections("http://127.0.0.1", 30.0, 4)
    connections._idle.append((float("inf"), left))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert connections.kept() is None and left.fileno() == -1
    right.close()


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
