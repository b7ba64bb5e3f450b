"""Texts in PNG files, which may unfold to gigabytes."""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

from dali_lab.codecs.backends.imagecodecs import _png
from dali_lab.codecs.headers import peek

imagecodecs = pytest.importorskip("imagecodecs")

HEAD = 33
"""Bytes of the signature and the first chunk."""


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_large_texts_do_not_reach_the_decoder(kind: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    plain = cv2.imencode(".png", image[..., ::-1])[1].tobytes()
    small, large = chunk(b"zTXt", b"a\0\0" + bytes(100)), chunk(kind, b"a\0\0" + bytes(100_000))
    given: list[int] = []
    decode = imagecodecs.spng_decode

    def noted(data: bytes, **options: object) -> np.ndarray:
        given.append(len(data))
        return np.asarray(decode(data, **options))

    monkeypatch.setattr(imagecodecs, "spng_decode", noted)
    with_texts = plain[:HEAD] + small + large + plain[HEAD:-12] + large + plain[-12:]
    for data, size in ((with_texts, len(plain) + len(small)), (plain, len(plain))):
        array = np.frombuffer(data, np.uint8)
        assert np.array_equal(_png(imagecodecs, array, peek(array), None), image)
        assert given.pop() == size


@pytest.mark.parametrize("end", [1, 30, 40, 60])
def test_a_file_that_ends_in_a_text_is_an_error(end: int) -> None:
    plain = cv2.imencode(".png", np.zeros((4, 4, 3), np.uint8))[1].tobytes()
    array = np.frombuffer((plain[:HEAD] + chunk(b"zTXt", bytes(100_000)))[: HEAD + end], np.uint8)
    with pytest.raises(imagecodecs.PngError):
        _png(imagecodecs, array, peek(np.frombuffer(plain, np.uint8)), None)
