"""Samples that are played: the frames of a clip, the slices of a volume, a sound."""

from __future__ import annotations

import io
import wave

import numpy as np

from dali_lab.graph.graph import Graph, bare
from dali_lab.model.dtypes import to_dali_type
from dali_lab.schema.registry import find_operator
from dali_lab.studio.document.validation import CheckedDocument
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.pictures import (
    Array,
    Picture,
    Scale,
    eight_bits,
    encode,
    fitted,
    frames_of,
    heat_map,
    waveform,
)
from dali_lab.studio.preview.rendering import output_kinds, picture_refs
from dali_lab.studio.preview.results import Evaluation, Token
from dali_lab.studio.preview.sources import pins_of
from dali_lab.studio.preview.summaries import display_scale, positions, value_range
from dali_lab.studio.protocol.previews import Played, PlayRequest
from dali_lab.studio.protocol.values import SessionError, within

_MOST_FRAMES = 256
_MOST_SECONDS = 600
_USUAL_RATE = 16_000
_WINDOW = 512
_COLUMNS = 1024
_FLOOR = -80.0


def played(
    evaluator: Evaluator, checked: CheckedDocument, seed: int, request: PlayRequest, token: Token
) -> tuple[Played, list[bytes]]:
    """One sample of an output, to be played.

    Raises
    ------
    DocumentError
        If there is no such sample.
    Cancelled
        If the token was used.
    """
    graph = checked.runnable
    name, output, _ = checked.instances.edge(request.node, request.output)
    if name not in graph.nodes:
        raise DocumentError(f"'{request.node}' cannot be computed yet.", "not_found")
    sample, size = within(request.sample, 0, 1 << 20), within(request.size, 32, 2048)
    evaluation = evaluator.evaluate(
        graph,
        seed,
        iteration=max(0, request.iteration),
        samples=sample + 1,
        nodes=[name],
        token=token,
        pins=pins_of(request.pins, request.pinned_of),
    )
    result = evaluation.results.get(name)
    if result is not None:
        failure = next((item for item in result.failures if item.sample in (None, sample)), None)
        if failure is not None:
            raise DocumentError(SessionError.of(failure.error).message, "failed")
    array, layout = _sample(evaluation, name, output, sample)
    if array is None or array.size == 0:
        raise DocumentError("There is no such sample.", "not_found")
    buffers: list[bytes] = []
    if output_kinds(graph)[name][output] == "audio":
        rate = _rate(graph, evaluation, name, sample)
        pictures = [waveform(array, 2 * size), _spectrogram(array, size)]
        images = picture_refs(pictures, buffers)
        buffers.append(_wav(array, rate))
        return Played(images, len(buffers) - 1, array.shape[0] / rate, rate / 2), buffers
    frames = frames_of(array, layout)[:_MOST_FRAMES]
    scale = display_scale(to_dali_type(array.dtype), value_range([array]))
    shown = []
    for frame in frames:
        token.check()
        shown.append(encode(eight_bits(fitted(frame, size), scale)))
    return Played(picture_refs(shown, buffers)), buffers


def _sample(evaluation: Evaluation, name: str, output: int, sample: int) -> tuple[Array | None, str]:
    """The array of a sample, `None` if it is lost, and the layout."""
    result = evaluation.results.get(name)
    batch = result.outputs[output] if result is not None and output < len(result.outputs) else None
    if result is None or batch is None:
        return None, ""
    rows = positions(len(batch), evaluation.samples, result.missing[output])
    row = rows[sample] if sample < len(rows) else None
    return (None if row is None else batch.array(row)), batch.layout


def _rate(graph: Graph, evaluation: Evaluation, name: str, sample: int) -> float:
    """The sample rate of a sound in hertz: of its decoder or its resampling, else the usual one."""
    while True:
        node = graph.nodes[name]
        resampled = node.arguments.get("out_rate")
        if isinstance(resampled, int | float) and resampled > 0:
            return float(resampled)
        outputs = [each.name for each in find_operator(node.op).present_outputs(node.arguments)]
        if "sample_rate" in outputs:
            value, _ = _sample(evaluation, name, outputs.index("sample_rate"), sample)
            if value is not None and value.size and float(value.reshape(-1)[0]) > 0:
                return float(value.reshape(-1)[0])
        if not node.inputs:
            return _USUAL_RATE
        name = bare(node.inputs[0]).node


def _mono(array: Array) -> Array:
    """The first channel, from -1 to 1."""
    first = array.reshape(array.shape[0], -1)[:, 0]
    scale = float(np.iinfo(array.dtype).max) if array.dtype.kind in "iu" else 1.0
    return np.asarray(np.nan_to_num(first.astype(np.float32) / scale))


def _wav(array: Array, rate: float) -> bytes:
    """A WAV file of 16 bits; one that would be too loud is made softer."""
    values = _mono(array)[: round(_MOST_SECONDS * rate)]
    values = values / max(1.0, float(np.abs(values).max(initial=0.0)))
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(round(rate))
        out.writeframes((values * 32767).astype("<i2").tobytes())
    return file.getvalue()


def _spectrogram(array: Array, size: int) -> Picture:
    """Power in decibels below the loudest, low frequencies at the bottom."""
    values = _mono(array)
    values = np.pad(values, (0, max(0, _WINDOW - len(values))))
    starts = np.linspace(0, len(values) - _WINDOW, min(_COLUMNS, 1 + (len(values) - _WINDOW) // 64)).astype(int)
    windows = np.stack([values[start : start + _WINDOW] for start in starts]) * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(windows)).T[::-1] ** 2
    decibels = 10 * np.log10(np.maximum(power, 1e-12) / max(float(power.max()), 1e-12))
    return heat_map(np.maximum(decibels, _FLOOR), Scale(_FLOOR, 0.0), 2 * size)
