"""Damage that knows the format: fields get odd values, while checksums and the rest stay right.

Changes at random places seldom get past a checksum or a length; these do, and reach the code behind.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable

from tests.fuzz.structures.media import boxes, ebml, flac, ogg, riff
from tests.fuzz.structures.pictures import bmp, codestream, jpeg, png, pnm, tiff
from tests.fuzz.structures.records import fits, lines_of_numbers, lmdb, message, npy, recordio, tar, tfrecord
from tests.fuzz.structures.texts import json_lines, json_tree


def _is_index(content: bytes) -> bool:
    return bool(re.fullmatch(rb"[\w. \t/-]*\n([\w. \t/-]*\n?)*", content[:2000])) and len(content) < 20_000


_KINDS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, random.Random], bytes]], ...] = (
    (lambda data: data.startswith(b"\x89PNG"), png),
    (lambda data: data.startswith(b"\xff\xd8"), jpeg),
    (lambda data: data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), tiff),
    (lambda data: data.startswith(b"RIFF"), riff),
    (lambda data: data[:4] in (b"\0\0\0\x0c", b"\xff\x4f\xff\x51"), codestream),
    (lambda data: data[4:8] == b"ftyp", boxes),
    (lambda data: data.startswith(b"\x1a\x45\xdf\xa3"), ebml),
    (lambda data: data.startswith(b"OggS"), ogg),
    (lambda data: data.startswith(b"fLaC"), flac),
    (lambda data: data.startswith(b"BM"), bmp),
    (lambda data: data[:1] == b"P" and data[1:2] in b"123456", pnm),
    (lambda data: data[257:262] == b"ustar", tar),
    (lambda data: data.startswith(b"\x93NUMPY"), npy),
    (lambda data: data[16:20] == b"\xde\xc0\xef\xbe", lmdb),
    (lambda data: data.startswith(b"SIMPLE  ="), fits),
    (lambda data: data.startswith(b"\x0a\x23\xd7\xce"), recordio),
    (lambda data: data[:1] == b"{" and data.count(b'\n{"') > 1, json_lines),
    (lambda data: data[:1] == b"{", json_tree),
    (_is_index, lines_of_numbers),
    (lambda data: data[1:8] == bytes(7), tfrecord),
    (lambda data: data[:1] in (b"\n", b"\x12"), message),
)


def structured(content: bytes, chance: random.Random) -> bytes | None:
    """The file with odd values in its structure; `None` where the format is none that is known here."""
    if content[:2] == b"\x1f\x8b":
        inner = structured(gzip.decompress(content), chance)
        return None if inner is None else gzip.compress(inner, 1)
    for known, change in _KINDS:
        if known(content):
            return change(content, chance)
    return None
