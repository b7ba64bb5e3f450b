"""Decoded sound against NVIDIA DALI's."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import numpy as np
import pytest
import soundfile

from dali_lab.codecs import audio
from dali_lab.codecs.encoded import CodecError
from dali_lab.kernels.cpu.audio_resample import lobes, resample, resampled_length
from tests.together import with_each
from tests.unit.codecs import oracle

types = oracle.types
DTYPES = {np.float32: types.FLOAT, np.int16: types.INT16, np.int32: types.INT32}
RATE, LENGTH = 16000, 3001


def sound(channels: int) -> np.ndarray:
    time = np.arange(LENGTH) / RATE
    noise = np.random.default_rng(channels).standard_normal((LENGTH, channels)) * 0.1
    tones = np.stack([0.6 * np.sin(2 * np.pi * (220 + 110 * c) * time) for c in range(channels)], axis=1)
    return (tones + noise).clip(-0.99, 0.99)


def encoded(channels: int, form: str, encoding: str, gain: float = 1.0) -> bytes:
    out = io.BytesIO()
    soundfile.write(out, sound(channels) * gain, RATE, format=form, subtype=encoding)
    return out.getvalue()


EXACT = [("WAV", name) for name in ("PCM_16", "PCM_U8", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")]
EXACT += [("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("AIFF", "PCM_16")]


def reference(files: list[bytes], **arguments: Any) -> list[list[np.ndarray]]:
    return oracle.decoded(oracle.fn.decoders.audio, files, **arguments)


@with_each("downmix", [False, True])
@with_each("dtype", DTYPES)
@with_each("channels", [1, 2, 3])
def test_equals_dali(channels: int, dtype: type, downmix: bool) -> None:
    files = [encoded(channels, *kind) for kind in EXACT] + [encoded(channels, "WAV", "FLOAT", gain=3)]
    wanted, rates = reference(files, dtype=DTYPES[dtype], downmix=downmix)
    arrays, found, failures = audio.decode(files, dtype=dtype, downmix=downmix)
    assert not failures
    np.testing.assert_array_equal(found, np.array(rates))
    for array, expected in zip(arrays, wanted, strict=True):
        assert array is not None
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("encoding", ["VORBIS", "OPUS"])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_lossy(encoding: str, dtype: type) -> None:
    """libvorbis and libopus of another build round otherwise: 3e-7 of full scale, or one step of int16."""
    files = [encoded(2, "OGG", encoding)]
    wanted, _ = reference(files, dtype=DTYPES[dtype])
    arrays, _, _ = audio.decode(files, dtype=dtype)
    tolerance = 1e-6 if dtype == np.float32 else 1
    np.testing.assert_allclose(arrays[0].astype(float), wanted[0].astype(float), rtol=0, atol=tolerance)


def test_mp3() -> None:
    """NVIDIA DALI 2.4 does not read it, so it is compared with what was encoded."""
    arrays, rates, failures = audio.decode([encoded(1, "MP3", "MPEG_LAYER_III")])
    assert not failures
    assert rates[0] == RATE
    assert arrays[0] is not None
    assert np.corrcoef(arrays[0][:LENGTH, 0], sound(1)[: len(arrays[0]), 0])[0, 1] > 0.9


@pytest.mark.parametrize("rate", [8000.0, 44100.0, 22050.5, 15999.0, 48000.0, 16000.0])
@pytest.mark.parametrize("channels", [1, 3])
def test_resampling(channels: int, rate: float) -> None:
    """Sums in another order at most: 1e-6 of full scale."""
    files = [encoded(channels, "WAV", "PCM_16")]
    for quality in (0.0, 50.0, 100.0):
        for downmix in (False, True):
            wanted, rates = reference(files, sample_rate=rate, quality=quality, downmix=downmix)
            arrays, found, _ = audio.decode(files, sample_rates=rate, quality=quality, downmix=downmix)
            assert arrays[0] is not None
            assert arrays[0].shape == wanted[0].shape
            assert found[0] == rates[0]
            np.testing.assert_allclose(arrays[0], wanted[0], rtol=0, atol=1e-6)


def test_resampled_integers() -> None:
    files = [encoded(2, "WAV", "PCM_16"), encoded(1, "FLAC", "PCM_16")]
    wanted, _ = reference(files, sample_rate=11025.0, dtype=types.INT16)
    arrays, _, _ = audio.decode(files, sample_rates=[11025.0, 11025.0], dtype=np.int16)
    for array, expected in zip(arrays, wanted, strict=True):
        assert array is not None
        assert np.abs(array.astype(int) - expected).max() <= 1


def test_resample_values() -> None:
    assert [lobes(q) for q in (0, 50, 100)] == [3, 16, 64]
    assert resampled_length(100, 16000, 44100) == 276
    steady = resample(np.ones(400, np.float32), 100, 173)
    np.testing.assert_allclose(steady[60:-60], 1, atol=2e-3)
    assert resample(np.zeros((0, 2), np.float32), 1, 2).shape == (0, 2)
    with pytest.raises(ValueError, match="quality"):
        resample(np.ones(4, np.float32), 1, 2, 101)
    with pytest.raises(ValueError, match="positive"):
        resample(np.ones(4, np.float32), 0, 2)


def test_peek() -> None:
    assert audio.peek_audio(encoded(2, "FLAC", "PCM_24")) == (LENGTH, 2, RATE, "FLAC", "PCM_24")
    with pytest.raises(CodecError, match="empty"):
        audio.peek_audio(b"")


def test_failures_leave_the_others() -> None:
    good = encoded(1, "WAV", "PCM_16")
    arrays, rates, failures = audio.decode(
        [good, b"", b"no sound at all " * 9, encoded(1, "FLAC", "PCM_16")[:300], good]
    )
    assert [index for index, _ in failures] == [1, 2, 3]
    assert all(reason for _, reason in failures)
    assert arrays[0] is not None
    assert arrays[4] is not None
    assert rates.tolist() == [RATE, 0, 0, 0, RATE]
    with pytest.raises(ValueError, match="float32, int16 or int32"):
        audio.decode([good], dtype=np.uint8)


def test_long_sounds_are_in_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "_AT_ONCE", 1 << 12)
    out = io.BytesIO()
    wanted = np.random.default_rng(0).integers(-100, 100, (200_000, 2), np.int16)
    soundfile.write(out, wanted, RATE, format="FLAC")
    tracemalloc.start()
    try:
        arrays, _, _ = audio.decode([out.getvalue()], dtype=np.int16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.array_equal(arrays[0], wanted)
    assert peak < 1.5 * wanted.nbytes + len(out.getvalue())
