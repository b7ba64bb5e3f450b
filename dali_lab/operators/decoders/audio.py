"""Decodes sound."""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8, numpy_dtype
from dali_lab.model.errors import OperatorError
from dali_lab.operators.decoders.image import ENCODED
from dali_lab.schema import Arg, Call, Case, ErrorCase, Operator, Output, PerSample, flag, number, register, samples


@register
class Audio(Operator):
    """Decodes sound: WAV, FLAC, OGG (Vorbis and Opus), MP3 and what else libsndfile reads.

    A file that cannot be decoded raises an error that names it; the pipeline remains usable.
    """

    name = "decoders.audio"
    decodes = True
    title = "Audio decoder"
    inputs = (ENCODED,)
    outputs = (
        Output("sound", kind="audio", doc="``(n, channels)``, or ``(n,)`` when mixed down."),
        Output("sample_rate", kind="tensor", doc="Sample rate in Hz, a FLOAT.", dtype=FLOAT),
    )
    differs = (
        "Where no rate is asked of a sample by a connected `sample_rate` of 0, the file's own rate is given, not 0."
    )
    arguments = (
        flag("downmix", "Average the channels, which leaves one dimension.", important=True),
        Arg("dtype", "dtype", FLOAT, "FLOAT (from -1 to 1), INT16 or INT32."),
        number(
            "sample_rate",
            0.0,
            "Rate to resample to; 0 leaves a file at its own.",
            tensor=True,
            minimum=0.0,
            maximum=1e7,
            unit="Hz",
            important=True,
        ),
        number("quality", 50.0, "Quality of resampling.", minimum=0.0, maximum=100.0),
    )
    example = """
    >>> encoded, labels = fn.readers.file(file_root=root, file_filters=["*.wav", "*.flac"])
    >>> sound, rate = fn.decoders.audio(encoded, downmix=True, sample_rate=16000)
    """

    def run(self, call: Call, data: Batch) -> tuple[Batch, Batch]:
        if data.dtype != UINT8 or data.ndim != 1:
            raise call.problem(f"takes one-dimensional UINT8 samples, got {data.ndim} dimensions of {data.dtype.name}")
        targets = call.numbers("sample_rate")
        wrong = ~(targets >= 0) | ~np.isfinite(targets)
        if wrong.any():
            index = int(wrong.argmax())
            raise call.problem(f"{targets[index]:g} is not a sample rate", argument="sample_rate", sample=index)
        sounds, rates = decode_sounds(call, data, targets)
        return sounds, Batch.dense(rates, dtype=FLOAT)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        vorbis = "other builds of the Vorbis library round float32 in another order"
        level = "half-way values round to either level"
        files = (_files(),)
        lossless = (_files()[:2],)
        yield Case(lossless)
        yield Case(lossless, {"dtype": INT16})
        yield Case(lossless, {"dtype": INT32})
        yield Case(lossless, {"downmix": True})
        yield Case(lossless, {"sample_rate": 11025.0})
        yield Case(lossless, {"sample_rate": 48000.0, "downmix": True, "dtype": INT16, "quality": 90.0})
        yield Case(lossless, {"sample_rate": 9000.0, "dtype": INT32})
        unusual = [_file(wave, 16000, "WAV", "GSM610") for wave in samples.waves((1000,))]
        silent = [_file(np.zeros((0, 2), np.float32), 16000, kind, "PCM_16") for kind in ("WAV", "AIFF")]
        yield Case((unusual + silent,), {"sample_rate": 12000.0})
        yield Case((silent,), {"downmix": True})
        yield Case(files, tolerance=1e-6, reason=vorbis)
        yield Case(files, {"downmix": True}, tolerance=1e-6, reason=vorbis)
        yield Case(files, {"dtype": INT16}, tolerance=1, reason=level)
        yield Case(files, {"dtype": INT32}, tolerance=2048, reason=vorbis)
        yield Case(files, {"dtype": INT16, "downmix": True}, tolerance=1, reason=level)
        yield Case(files, {"sample_rate": 8000.0}, tolerance=1e-6, reason=vorbis)
        yield Case(files, {"sample_rate": 16000.0, "downmix": True, "quality": 80.0}, tolerance=1e-6, reason=vorbis)
        low = {"sample_rate": 11025.0, "dtype": INT16, "quality": 0.0}
        yield Case(files, low, tolerance=1, reason=level)
        rates = PerSample.of(8000, 22050, 16000, 48000)
        yield Case(files, {"sample_rate": rates}, tolerance=1e-6, reason=vorbis)
        yield Case(files, {"sample_rate": rates, "downmix": True}, tolerance=1e-6, reason=vorbis)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = _files()
        yield ErrorCase(([good[0], np.arange(100, dtype=np.uint8)],), words=("sample 1", "cannot decode"))
        yield ErrorCase(([np.zeros(0, np.uint8)],), words=("sample 0", "empty"))
        yield ErrorCase(([np.zeros((4, 4), np.uint8)],), words=("one-dimensional", "2"))
        yield ErrorCase((good,), {"dtype": UINT8}, words=("dtype", "UINT8", "INT16"))


def decode_sounds(
    call: Call, data: Batch, targets: npt.NDArray[np.float32], spans: npt.NDArray[np.float64] | None = None
) -> tuple[Batch, npt.NDArray[np.float32]]:
    """Decode sounds by the arguments ``dtype``, ``downmix`` and ``quality`` of the operator.

    Parameters
    ----------
    call
        The call.
    data
        Encoded files.
    targets
        Rate to resample each of them to; 0 for its own.
    spans
        ``float64[N, 2]``: the part that is wanted of each; see :func:`~dali_lab.codecs.audio.frames_of`.

    Returns
    -------
    sounds : Batch
        The first output.
    rates : numpy.ndarray
        ``float32[N]``, the rates that they have.
    """
    from dali_lab.codecs import audio, waves

    wanted, downmix = call.operator.value("dtype"), call.operator.value("downmix")
    if wanted not in (FLOAT, INT16, INT32):
        raise call.problem(f"gives FLOAT, INT16 or INT32, not {wanted.name}", argument="dtype")

    def failed(index: int, reason: str) -> OperatorError:
        source = data.sources[index] if data.sources is not None and index < len(data.sources) else None
        return call.problem(f"cannot decode the sound: {reason}", sample=index, source=source)

    table, plain = waves.find(data, numpy_dtype(wanted), downmix, targets)
    if spans is not None:
        for index in np.flatnonzero(plain).tolist():
            try:
                part = audio.frames_of(int(table[index, waves.LENGTH]), float(table[index, waves.RATE]), spans[index])
            except audio.CodecError as error:
                raise failed(index, str(error)) from error
            waves.cut(table, index, *part)
    others = np.flatnonzero(~plain)
    arrays, other_rates, failures = audio.decode(
        data.take(others).arrays(),
        dtype=numpy_dtype(wanted),
        downmix=downmix,
        sample_rates=targets[others],
        quality=call.operator.value("quality"),
        spans=None if spans is None else spans[others],
    )
    if failures:
        which, reason = failures[0]
        raise failed(int(others[which]), reason)
    rates = table[:, waves.RATE].astype(np.float32)
    rates[others] = other_rates
    shapes = table[:, [waves.LENGTH, waves.CHANNELS]][:, : 1 if downmix else 2]
    for index, array in zip(others.tolist(), arrays, strict=True):
        assert array is not None
        shapes[index] = array.shape
    sounds = call.allocate(shapes, wanted, "")
    for index, array in zip(others.tolist(), arrays, strict=True):
        sounds.array(index)[...] = array
    waves.convert(data, table, plain, sounds, downmix)
    sounds.sources = data.sources
    return sounds, rates


def _files() -> list[npt.NDArray[np.uint8]]:
    """WAV, FLAC and OGG with one, two and three channels."""
    waves = samples.waves((4000, 3001, 900, 2000))
    return [
        _file(waves[0], 16000, "WAV", "PCM_16"),
        _file(np.stack([waves[1], waves[1][::-1]], 1), 22050, "FLAC", "PCM_16"),
        _file(waves[2], 16000, "OGG", "VORBIS"),
        _file(np.stack([waves[3]] * 3, 1), 44100, "WAV", "FLOAT"),
    ]


def _file(sound: npt.NDArray[np.float32], rate: int, kind: str, encoding: str) -> npt.NDArray[np.uint8]:
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, sound, rate, format=kind, subtype=encoding)
    return np.frombuffer(file.getvalue(), np.uint8)
