"""Pictures that carry their graph: PNG files with the graph's JSON in a text chunk, as the editor exports them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from dali_lab.formats.json import graph_file as json_file
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"dali-lab-graph"
_MOST_BYTES = 64 << 20


def loads(data: bytes) -> Graph:
    """The graph inside a PNG.

    Raises
    ------
    FormatError
        If it is no PNG, cut off, or has no graph inside.
    """
    for kind, content in _chunks(data):
        if kind in (b"iTXt", b"tEXt", b"zTXt") and content.startswith(KEYWORD + b"\0"):
            return json_file.loads(_text(kind, content[len(KEYWORD) + 1 :]))
    raise FormatError("this picture has no graph inside: it was not exported from the editor, or something stripped it")


def embed(picture: bytes, graph: Graph) -> bytes:
    """A PNG with the graph put inside, in place of one that it may carry.

    Raises
    ------
    FormatError
        If `picture` is no PNG.
    """
    document = zlib.compress(json_file.dumps(graph).encode("utf-8"), 9)
    # Keyword, compressed, by zlib, no language, no translated keyword.
    content = KEYWORD + b"\0\x01\0\0\0" + document
    result = [SIGNATURE]
    for kind, chunk in _chunks(picture):
        if kind in (b"iTXt", b"tEXt", b"zTXt") and chunk.startswith(KEYWORD + b"\0"):
            continue
        if kind == b"IEND":
            result.append(_chunk(b"iTXt", content))
        result.append(_chunk(kind, chunk))
    return b"".join(result)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise FormatError("this is not a PNG")
    position = len(SIGNATURE)
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        kind = data[position + 4 : position + 8]
        content = data[position + 8 : position + 8 + length]
        if len(content) != length or position + 12 + length > len(data):
            break
        yield kind, content
        if kind == b"IEND":
            return
        position += 12 + length
    raise FormatError("the PNG ends too early: it was cut off")


def _text(kind: bytes, content: bytes) -> bytes:
    if kind == b"tEXt":
        return content
    if kind == b"zTXt":
        return _inflated(content[1:])
    compressed = content[:1] == b"\x01"
    parts = content[2:].split(b"\0", 2)
    if len(content) < 2 or len(parts) != 3:
        raise FormatError("the graph inside the PNG is damaged")
    return _inflated(parts[2]) if compressed else parts[2]


def _inflated(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise FormatError("the graph inside the PNG is damaged") from error
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise FormatError("the graph inside the PNG is cut off, or larger than any graph is")
    return text


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
