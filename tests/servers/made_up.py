"""An S3 server that makes up its objects: any number of keys, all with the same content, and nothing on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers.serving import serving

_HEAD = "Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT\r\nContent-Type: binary/octet-stream\r\nAccept-Ranges: bytes\r\n"


@dataclass
class MadeUp:
    """A server that runs, with one bucket of any name.

    Attributes
    ----------
    count
        Objects in it: ``train/00000000.jpg`` and following.
    content
        That of each object.
    address
        Its URL.
    delay
        Seconds before each answer.
    refusals
        Status and body for the paths that contain a text, instead of the answer.
    gone
        Paths of objects that are not there any more.
    requests
        Paths of the requests so far.
    """

    count: int
    content: bytes
    address: str = ""
    delay: float = 0.0
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)

    def key(self, number: int) -> str:
        """The key of an object."""
        return f"train/{number:08d}.jpg"

    def _page(self, query: dict[str, list[str]]) -> bytes:
        size = min(1000, int(query.get("max-keys", ["1000"])[0]))
        prefix = query.get("prefix", [""])[0]
        if not "train/".startswith(prefix[:6]):
            return b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'
        if "delimiter" in query and len(prefix) < len("train/"):
            return (
                b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>'
                b"<CommonPrefixes><Prefix>train/</Prefix></CommonPrefixes></ListBucketResult>"
            )
        first = int(query.get("continuation-token", ["0"])[0])
        if not first and (after := query.get("start-after", [""])[0]) > "train/":
            digits = after.removeprefix("train/")[:8]
            first = int(digits) + 1 if digits.isdigit() else self.count
        last = min(self.count, first + size)
        entries = "".join(
            f"<Contents><Key>{self.key(number)}</Key><LastModified>2026-11-02T10:00:00.000Z</LastModified>"
            f"<ETag>&quot;{number:x}&quot;</ETag><Size>{len(self.content)}</Size></Contents>"
            for number in range(first, last)
        )
        more = f"<NextContinuationToken>{last}</NextContinuationToken>" if last < self.count else ""
        return (
            f'<?xml version="1.0"?><ListBucketResult><IsTruncated>{str(last < self.count).lower()}</IsTruncated>'
            f"<KeyCount>{last - first}</KeyCount>{more}{entries}</ListBucketResult>"
        ).encode()

    def _answer(self, method: str, target: str, head: str) -> bytes:
        parts = urlsplit(target)
        path = unquote(parts.path)
        refused = next((found for text, found in self.refusals.items() if text in target), None)
        if refused is None and path in self.gone:
            refused = (404, "<Error><Code>NoSuchKey</Code></Error>")
        if refused is not None:
            status, said = refused
            return f"HTTP/1.1 {status} Refused\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()
        query = parse_qs(parts.query)
        if "list-type" in query:
            page = self._page(query)
            return f"HTTP/1.1 200 OK\r\n{_HEAD}Content-Length: {len(page)}\r\n\r\n".encode() + page
        number = path.rpartition("/")[2].partition(".")[0]
        if not number.isdigit() or int(number) >= self.count:
            said = "<Error><Code>NoSuchKey</Code></Error>"
            return f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()
        content, status, span = self.content, "200 OK", ""
        asked = next((line for line in head.split("\r\n") if line.lower().startswith("range: bytes=")), "")
        if asked:
            begin, _, end = asked.partition("=")[2].partition("-")
            low, high = int(begin), min(int(end or len(content)), len(content) - 1)
            span = f"Content-Range: bytes {low}-{high}/{len(content)}\r\n"
            content, status = content[low : high + 1], "206 Partial Content"
        answer = f'HTTP/1.1 {status}\r\n{_HEAD}ETag: "{int(number):x}"\r\n{span}Content-Length: {len(content)}\r\n\r\n'
        return answer.encode() + (content if method != "HEAD" else b"")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split("\r\n", 1)[0].split(" ")
                self.requests.append(target)
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(self._answer(method, target, head))
                await writer.drain()
        writer.close()


@contextmanager
def made_up(count: int, content: bytes) -> Iterator[MadeUp]:
    """A server on a thread of its own."""
    result = MadeUp(count, content)
    with serving(result.serve) as result.address:
        yield result
