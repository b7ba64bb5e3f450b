"""Answers that are not what was asked for: an error, never a wrong sample, and nothing of them in the cache."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dali_lab.io import files
from dali_lab.io.remote.cache import FOLDER, LIMIT
from dali_lab.io.remote.parts import FileParts, Part
from dali_lab.io.remote.store import Info
from tests.servers.s3 import ACCOUNT
from tests.servers.serving import serving

pytest.importorskip("obstore")

CONTENT = bytes(range(1, 251)) * 12
SIZE = len(CONTENT)
KNOWN = [Info(SIZE, '"v"')]
PAGE = b"<html><body>Please sign in to this network.</body></html>"
LAST = b"\r\n0\r\n\r\n"
"""The end of a body in chunks."""
ZIPPED = gzip.compress(CONTENT)


def answer(status: str, body: bytes, more: str = "", length: int | None = None) -> bytes:
    length = len(body) if length is None else length
    return f'HTTP/1.1 {status}\r\nETag: "v"\r\n{more}Content-Length: {length}\r\n\r\n'.encode() + body


def part(body: bytes, said: str, more: str = "") -> bytes:
    return answer("206 Partial Content", body, f"Content-Range: bytes {said}\r\n{more}")


def honest(begin: int, end: int) -> bytes:
    return part(CONTENT[begin:end], f"{begin}-{end - 1}/{SIZE}")


UNTRUE: dict[str, Callable[[int, int], bytes]] = {
    "less, with its own range": lambda begin, end: part(CONTENT[begin : end - 9], f"{begin}-{end - 10}/{SIZE}"),
    "less than its range": lambda begin, end: part(CONTENT[begin : end - 9], f"{begin}-{end - 1}/{SIZE}"),
    "more than its range": lambda begin, end: part(CONTENT[begin:end] + b"more", f"{begin}-{end - 1}/{SIZE}"),
    "another range": lambda begin, end: part(
        CONTENT[7 : 7 + end - begin], f"7-{min(7 + end - begin, SIZE) - 1}/{SIZE}"
    ),
    "a larger object": lambda begin, end: part(CONTENT[begin:end], f"{begin}-{end - 1}/{SIZE * 1000}"),
    "a part without a range": lambda begin, end: answer("206 Partial Content", CONTENT[begin:end]),
    "a range that is none": lambda begin, end: part(CONTENT[begin:end], "all of it"),
    "parts": lambda begin, end: answer("206 Multipart", CONTENT[begin:end], "Content-Type: multipart/byteranges\r\n"),
    "less as a whole": lambda begin, end: answer("200 OK", CONTENT[:100]),
    "nothing as a whole": lambda begin, end: answer("200 OK", b""),
    "no content": lambda begin, end: b'HTTP/1.1 204 No Content\r\nETag: "v"\r\n\r\n',
    "not modified": lambda begin, end: b'HTTP/1.1 304 Not Modified\r\nETag: "v"\r\n\r\n',
    "cut": lambda begin, end: honest(begin, end)[:-50],
    "compressed": lambda begin, end: answer("200 OK", ZIPPED, "Content-Encoding: gzip\r\n"),
    "compressed part": lambda begin, end: part(
        ZIPPED, f"{begin}-{begin + len(ZIPPED) - 1}/{begin + len(ZIPPED)}", "Content-Encoding: gzip\r\n"
    ),
    "a page to sign in at": lambda begin, end: answer("200 OK", PAGE, "Content-Type: text/html\r\n"),
    "a page as a part": lambda begin, end: part(PAGE, f"{begin}-{begin + len(PAGE) - 1}/{begin + len(PAGE)}"),
    "an error as content": lambda begin, end: answer("200 OK", b"<?xml version='1.0'?><Error/>"),
    "a redirect to a file": lambda begin, end: answer("302 Found", b"", "Location: file:///etc/hostname\r\n"),
}


class Liar:
    """A server whose answers to GET a test chooses; those to HEAD are true by default."""

    def __init__(self) -> None:
        self.answer: Callable[[int, int], bytes] = honest
        self.head = answer("200 OK", b"", length=SIZE)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                asked = re.search(r"(?im)^range: bytes=(\d+)-(\d*)", head)
                begin, end = (int(asked[1]), min(int(asked[2] or SIZE - 1) + 1, SIZE)) if asked else (0, SIZE)
                told = self.head if head.startswith("HEAD") else self.answer(begin, end)
                writer.write(told)
                await writer.drain()
                if len(told) < len(honest(begin, end)) and self.answer is UNTRUE["cut"]:
                    break
        writer.close()


@pytest.fixture
def liar() -> Iterator[tuple[Liar, str]]:
    """The server and its address."""
    made = Liar()
    with serving(made.serve) as address:
        yield made, address


def taken(url: str, wanted: Part, known: list[Info] | None) -> bytes:
    data = FileParts([url], known).take([wanted])[0]
    if isinstance(data, OSError):
        raise data
    return bytes(data)


def reopened(url: str) -> bytes:
    with files.open_file(url) as file:
        file.seek(1000)
        return file.read(700) + file.read()


WAYS: dict[str, tuple[Callable[[str], bytes], bytes]] = {
    "whole": (files.read_file, CONTENT),
    "whole, with others": (lambda url: taken(url, Part(0), None), CONTENT),
    "whole, of known size": (lambda url: taken(url, Part(0), KNOWN), CONTENT),
    "part": (lambda url: taken(url, Part(0, 500, 700), KNOWN), CONTENT[500:1200]),
    "end": (lambda url: taken(url, Part(0, SIZE - 500, 500), KNOWN), CONTENT[-500:]),
    "open file": (reopened, CONTENT[1000:]),
}


@pytest.mark.parametrize("cache", [False, True], ids=["no cache", "cache"])
@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.parametrize("kind", UNTRUE)
def test_untrue_answers_are_errors_and_are_not_kept(
    liar: tuple[Liar, str], scheme: str, kind: str, cache: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, address = liar
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "2")
    url = "s3://b/data.bin" if scheme == "s3" else f"{address}/b/data.bin"
    for number, (way, (read, content)) in enumerate(WAYS.items()):
        if cache:
            monkeypatch.setenv(LIMIT, "1GB")
            monkeypatch.setenv(FOLDER, str(tmp_path / str(number)))
        server.answer = UNTRUE[kind]
        with suppress(OSError):
            assert read(url) == content, way
        server.answer = honest
        assert read(url) == content, f"{way}, afterwards"


def test_a_page_to_sign_in_at_is_named(liar: tuple[Liar, str], monkeypatch: pytest.MonkeyPatch) -> None:
    server, address = liar
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "2")
    for body in (PAGE, b"\r\n<!DOCTYPE html>\n<p>Sign in</p>"):
        server.answer = lambda begin, end, body=body: part(body, f"0-{len(body) - 1}/{len(body)}")  # type: ignore[misc]
        with pytest.raises(OSError, match=r"sent a web page instead of the file.*tried 2 times"):
            files.read_file(f"{address}/a.jpg")
        assert files.read_file(f"{address}/a.html") == body


def test_compression_on_the_way_is_named(liar: tuple[Liar, str]) -> None:
    server, address = liar
    size = len(ZIPPED)
    server.answer = lambda begin, end: part(ZIPPED, f"0-{size - 1}/{size}", "Content-Encoding: gzip\r\n")
    with pytest.raises(OSError, match=r"sends it compressed \(Content-Encoding: gzip\)"):
        files.read_file(f"{address}/a.npy")
    assert files.read_file(f"{address}/a.nii.gz") == ZIPPED, "a file that is compressed itself"


def test_a_signed_url_that_sends_less(liar: tuple[Liar, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The library that reads signed URLs looks at no length."""
    pytest.importorskip("aiohttp")
    server, address = liar
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "2")
    server.answer = UNTRUE["less as a whole"]
    with pytest.raises(OSError, match="sent 100 bytes instead of 3,000"):
        files.read_file(f"{address}/a.bin?sig=1")


def test_a_signed_url_on_a_server_without_ranges(liar: tuple[Liar, str]) -> None:
    pytest.importorskip("aiohttp")
    server, address = liar
    server.answer = lambda begin, end: answer("200 OK", CONTENT)
    url = f"{address}/a.bin?sig=1"
    assert taken(url, Part(0, 500, 700), None) == CONTENT[500:1200]
    assert reopened(url) == CONTENT[1000:]


@pytest.mark.parametrize("query", ["", "?sig=1"])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_whose_size_is_not_told(
    liar: tuple[Liar, str], ranges: bool, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp")
    server, address = liar
    server.head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    def chunked(begin: int, end: int, content: bytes = CONTENT) -> bytes:
        body = content[begin:end] if ranges else content
        status = "206 Partial Content" if ranges else "200 OK"
        return f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + LAST

    server.answer = chunked
    url = f"{address}/a folder/a.bin{query}"
    assert files.read_file(url) == CONTENT
    assert taken(url, Part(0, 500, 700), None) == CONTENT[500:1200]
    assert taken(url, Part(0, SIZE - 10, 20), None) == CONTENT[-10:], "up to its end"
    with pytest.raises(OSError, match="does not tell how many bytes it has"):
        files.open_file(url)
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "2")
    server.answer = lambda begin, end: chunked(begin, end, PAGE)
    with pytest.raises(OSError, match="sent a web page instead of the file"):
        files.read_file(f"{address}/a.bin")
