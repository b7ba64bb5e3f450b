"""Audio decoder: WAV, FLAC, OGG, MP3, AIFF and whatever libsndfile reads, with resampling and down-mixing."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import Buffer, CodecError
from dali_lab.model.buffers import empty

Array = npt.NDArray[Any]


_AT_ONCE = 1 << 24
"""Elements of a sound that memory is made ready for before they are read: headers may say anything."""


class AudioInfo(NamedTuple):
    """The header of a sound file.

    Attributes
    ----------
    length
        Samples of each channel.
    channels
        Number of channels.
    sample_rate
        In Hz.
    format
        ``WAV``, ``FLAC``, ``OGG``, ``MP3`` and so on.
    encoding
        How samples are stored, such as ``PCM_16`` or ``VORBIS``.
    """

    length: int
    channels: int
    sample_rate: int
    format: str
    encoding: str


def peek_audio(data: Buffer) -> AudioInfo:
    """Read a sound file's header.

    Raises
    ------
    CodecError
        If it is no sound file that libsndfile reads.
    """
    with _open(data) as file:
        return AudioInfo(file.frames, file.channels, file.samplerate, file.format, file.subtype)


def decode(
    buffers: Sequence[Buffer],
    *,
    dtype: npt.DTypeLike = np.float32,
    downmix: bool = False,
    sample_rates: Sequence[float] | npt.NDArray[np.floating[Any]] | float | None = None,
    quality: float = 50.0,
    spans: npt.NDArray[np.float64] | None = None,
) -> tuple[list[Array | None], npt.NDArray[np.float32], list[tuple[int, str]]]:
    """Decode a chunk of sound files in the calling thread.

    Parameters
    ----------
    buffers
        Encoded files.
    dtype
        ``float32`` (-1 to 1), ``int16`` or ``int32``.
    downmix
        Whether to average the channels; the result then has one dimension.
    sample_rates
        Rate to resample to, one or one for each file; `None` or 0 leaves a file at its own.
    quality
        Of resampling, 0 to 100.
    spans
        ``float64[N, 2]``: where to begin in each file, and how much of it to decode, in seconds; see
        :func:`frames_of`.

    Returns
    -------
    arrays : list
        For each file an array ``[samples, channels]``, or ``[samples]`` when mixed down; `None` for a failure.
    rates : numpy.ndarray
        ``float32[N]``, sample rate of each result.
    failures : list of (int, str)
        Index and reason of each file that could not be decoded.

    Raises
    ------
    ValueError
        If `dtype` is none of the three.
    """
    wanted = np.dtype(dtype)
    if wanted not in (np.float32, np.int16, np.int32):
        raise ValueError(f"sound decodes to float32, int16 or int32, not {wanted}")
    targets = np.broadcast_to(np.asarray(0 if sample_rates is None else sample_rates, np.float64), len(buffers))
    arrays: list[Array | None] = [None] * len(buffers)
    rates = np.zeros(len(buffers), np.float32)
    failures = []
    for index, data in enumerate(buffers):
        try:
            arrays[index], rates[index] = _decode_one(
                data, wanted, downmix, float(targets[index]), quality, None if spans is None else spans[index]
            )
        except CodecError as error:
            failures.append((index, str(error)))
        except MemoryError as error:
            failures.append((index, str(error) or "out of memory"))
    return arrays, rates, failures


def frames_of(length: int, rate: float, span: npt.NDArray[np.float64]) -> tuple[int, int]:
    """First sample and number of samples of a part of a sound.

    Parameters
    ----------
    length, rate
        Samples of the sound, and how many make a second.
    span
        Seconds from its start to that of the part, and seconds that this lasts; negative ones count as not given.

    Raises
    ------
    CodecError
        If nothing is left.
    """
    begin, lasts = span.tolist()  # numbers of Python, whose products overflow without a warning
    start = int(min(begin * rate, length)) if begin > 0 else 0
    count = min(int(min(lasts * rate, length)) if lasts >= 0 else length, length - start)
    if count <= 0:
        raise CodecError(f"no samples from {span[0]:g} s on: it lasts {length / rate:g} s")
    return start, count


def _decode_one(
    data: Buffer,
    wanted: np.dtype[Any],
    downmix: bool,
    target: float,
    quality: float,
    span: npt.NDArray[np.float64] | None,
) -> tuple[Array, float]:
    with _open(data) as file:
        rate, channels = float(file.samplerate), file.channels
        if target < 0:
            raise CodecError(f"sample rate {target} is negative")
        resamples = target > 0 and np.float32(target) != np.float32(rate)
        mixes = downmix and channels > 1
        start, count = (0, file.frames) if span is None else frames_of(file.frames, rate, span)
        try:
            if start and file.seekable():
                file.seek(start)
                start = 0
            sound = _read(file, start + count, "float32" if resamples or mixes else wanted.name)[start:]
        except (RuntimeError, ValueError) as error:
            raise CodecError(f"damaged {file.format} file: {error}") from None
    if mixes:
        sound = _mix(sound)
    elif downmix:
        sound = sound[:, 0]
    if resamples:
        from dali_lab.kernels.cpu.audio_resample import resample, resampled_length

        # Asked for before the work: minutes would pass until it turned out to be too much.
        empty((resampled_length(len(sound), rate, target), *sound.shape[1:]), np.float32)
        sound = resample(sound, rate, target, quality)
        rate = target
    return _as_dtype(sound, wanted), rate


def _read(file: Any, count: int, dtype: str) -> Array:
    """The next samples of a sound, ``[samples, channels]``; fewer where the file ends before its header says."""
    # With the number of samples given, libsndfile also reads files in which it cannot seek (GSM).
    if count * file.channels <= _AT_ONCE:
        return np.asarray(file.read(count, dtype, always_2d=True))
    sound: Array = np.empty((0, file.channels), dtype)
    found, size = 0, max(1, _AT_ONCE // file.channels)
    while found == len(sound) < count:
        sound.resize((min(count, found + size), file.channels), refcheck=False)  # where it lies, as a rule
        found += len(file.read(out=sound[found:]))
    return sound[:found]


def _mix(sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Mean of the channels, each weighted first: the order in which NVIDIA DALI rounds."""
    weight = np.float32(1) / np.float32(sound.shape[1])
    total = sound[:, 0] * weight
    for channel in range(1, sound.shape[1]):
        total += sound[:, channel] * weight
    return total


def _as_dtype(sound: Array, wanted: np.dtype[Any]) -> Array:
    if sound.dtype == wanted:
        return np.ascontiguousarray(sound)
    limits = np.iinfo(wanted)
    values = sound * np.float32(limits.max)
    # Halves are rounded away from zero.
    values += np.copysign(np.nextafter(np.float32(0.5), np.float32(0)), values)
    return np.clip(values.astype(np.float64), limits.min, limits.max).astype(wanted)


def _open(data: Buffer) -> Any:
    try:
        import soundfile
    except (ImportError, OSError):
        raise CodecError("decoding sound needs the package 'soundfile', which is not installed") from None
    if len(data) == 0:
        raise CodecError("not a sound file: it is empty")
    try:
        return soundfile.SoundFile(io.BytesIO(data))
    except (soundfile.LibsndfileError, TypeError) as error:
        reason = str(getattr(error, "error_string", error)).strip().rstrip(".")
        raise CodecError(f"not a sound file that can be decoded: {reason}") from None


__all__ = ["AudioInfo", "CodecError", "decode", "frames_of", "peek_audio"]
