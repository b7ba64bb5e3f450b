"""Plain WAV files read by our own kernel, against libsndfile."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from dali_lab.codecs import audio, waves
from dali_lab.model.batch import Batch
from dali_lab.types import FLOAT, INT16
from tests.together import with_each

ENCODINGS = ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW")
PLAIN = {"PCM_U8", "PCM_16", "PCM_32", "FLOAT"}


def wave(encoding: str, channels: int = 1, length: int = 500) -> bytes:
    """A WAV file of noise."""
    noise = np.random.default_rng(channels).uniform(-1, 1, (length, channels))
    file = io.BytesIO()
    soundfile.write(file, noise, 16000, format="WAV", subtype=encoding)
    return file.getvalue()


def ours(file: bytes, dtype: type, downmix: bool) -> tuple[np.ndarray, float] | None:
    """Samples that the kernel reads from a file; `None` if it leaves the file to libsndfile."""
    data = Batch.of([np.frombuffer(file, np.uint8)])
    table, plain = waves.find(data, np.dtype(dtype), downmix, np.zeros(1, np.float32))
    if not plain[0]:
        return None
    shape = [table[0, waves.LENGTH]] + ([] if downmix else [table[0, waves.CHANNELS]])
    out = Batch.allocate([shape], FLOAT if dtype == np.float32 else INT16)
    waves.convert(data, table, plain, out, downmix)
    return out.array(0), float(table[0, waves.RATE])


@with_each("downmix", [False, True])
@with_each("dtype", [np.float32, np.int16])
@with_each("channels", [1, 2, 3])
@with_each("encoding", ENCODINGS)
def test_equals_libsndfile(encoding: str, channels: int, dtype: type, downmix: bool) -> None:
    file = wave(encoding, channels)
    found = ours(file, dtype, downmix)
    taken = encoding in PLAIN if dtype == np.float32 else encoding == "PCM_16" and (channels == 1 or not downmix)
    assert (found is not None) == taken
    if found is not None:
        (wanted,), rates, failures = audio.decode([file], dtype=dtype, downmix=downmix)
        assert not failures
        np.testing.assert_array_equal(found[0], wanted)
        assert found[1] == rates[0]


def test_chunks_between_header_and_elements() -> None:
    plain = wave("PCM_16")
    for name, body in ((b"LIST", b"INFOISFT\x04\0\0\0abc\0"), (b"JUNK", bytes(28)), (b"bext", bytes(602))):
        chunk = name + len(body).to_bytes(4, "little") + body
        file = plain[:36] + chunk + plain[36:]
        found = ours(file, np.float32, True)
        assert found is not None
        np.testing.assert_array_equal(found[0], audio.decode([file], downmix=True)[0][0])


@pytest.mark.parametrize("encoding", ["PCM_16", "FLOAT", "PCM_U8"])
def test_damaged_headers_are_read_as_libsndfile_reads_them(encoding: str) -> None:
    """Whatever the kernel takes for a plain file, libsndfile reads the same from it."""
    file = np.frombuffer(wave(encoding, 2, 50), np.uint8)
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(1500):
        damaged = file.copy()
        for place in rng.integers(0, 60, rng.integers(1, 3)):
            damaged[place] = rng.choice([0, 1, 2, 3, 4, 8, 16, 32, 127, 128, 255, rng.integers(256)])
        if rng.random() < 0.3:
            damaged = damaged[: rng.integers(0, len(damaged))]
        data = damaged.tobytes()
        found = ours(data, np.float32, False)
        if found is None:
            continue
        taken += 1
        (wanted,), rates, failures = audio.decode([data])
        assert not failures, (failures, data[:60])
        np.testing.assert_array_equal(found[0], wanted)
        assert found[1] == rates[0]
    assert taken > 50
