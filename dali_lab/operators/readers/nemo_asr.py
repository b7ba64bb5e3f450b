"""Reads sound and its transcripts by manifests of NVIDIA NeMo."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from dali_lab.io.files import read_file, reason
from dali_lab.io.locations import shown
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT64, UINT8
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.decoders.audio import decode_sounds
from dali_lab.operators.readers.list_reader import AFTER_EPOCH, READER
from dali_lab.operators.readers.whole_files import Paths, WholeFileReader, read_files
from dali_lab.schema import Arg, Call, Output, flag, number, register, strings
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.ports import Extent

if TYPE_CHECKING:
    from dali_lab.operators.readers.unmatched import Unmatched


class Entry(NamedTuple):
    """One line of a manifest: the file, the part of it in seconds (negative if it is not given), text and number."""

    path: str
    offset: float
    duration: float
    text: bytes
    number: int


@register
class NemoAsr(WholeFileReader):
    """Reads sound and its transcripts for speech recognition, by manifests of NVIDIA NeMo.

    A manifest has a JSON object on each line: ``audio_filepath``, and if wanted ``offset`` and ``duration`` in seconds
    and ``text``.
    """

    name = "readers.nemo_asr"
    title = "NeMo speech reader"
    outputs = (
        Output("sound", kind="audio", doc="``(n,)``, or ``(n, channels)`` without `downmix`."),
        Output(
            "sample_rate",
            kind="tensor",
            doc="With `read_sample_rate`: the file's own rate in Hz, a FLOAT.",
            dtype=FLOAT,
            when=("read_sample_rate",),
        ),
        Output("text", kind="tensor", doc="With `read_text`: UINT8, in UTF-8.", dtype=UINT8, when=("read_text",)),
        Output(
            "index",
            kind="tensor",
            doc="With `read_idxs`: INT64 of shape (1,), the number of the line among those of its manifest that are"
            " read.",
            dtype=INT64,
            when=("read_idxs",),
        ),
    )
    identifies = True
    locating = ("manifest_filepaths", "min_duration", "max_duration")
    tested_elsewhere = "tests/unit/readers/test_nemo_asr.py"
    differs = (
        "The path of its file is the source of a sample, which has none in NVIDIA DALI. Damaged lines and parts beyond"
        " the end of a file are errors."
    )
    arguments = (
        strings("manifest_filepaths", REQUIRED, "Manifests.", widget="path", important=True),
        flag("read_sample_rate", "Give the sample rates of files.", default=True),
        flag("read_text", "Give the transcripts.", default=True),
        flag("read_idxs", "Give the numbers of lines."),
        number(
            "sample_rate",
            -1.0,
            "Rate to resample to; up to 0 leaves files at their own.",
            maximum=1e7,
            unit="Hz",
            important=True,
            slider=(0, None),
        ),
        number("quality", 50.0, "Quality of resampling.", minimum=0.0, maximum=100.0),
        flag("downmix", "Average the channels, which leaves one dimension.", default=True, important=True),
        Arg("dtype", "dtype", FLOAT, "FLOAT (from -1 to 1), INT16 or INT32."),
        number(
            "min_duration",
            0.0,
            "Leave out lines with a shorter or no `duration`, if this is more than 0.",
            unit="s",
            slider=(0, None),
        ),
        number(
            "max_duration",
            0.0,
            "Leave out lines with a longer `duration`, if this is more than 0.",
            unit="s",
            slider=(0, None),
        ),
        *AFTER_EPOCH,
        *READER,
        Arg("normalize_text", "bool", None, "Has no effect.", removed=True),
    )
    example = """
    >>> sound, rate, text = fn.readers.nemo_asr(manifest_filepaths=["manifest.json"], sample_rate=16000, name="Reader")
    """

    def load(self) -> int:
        self._entries: list[Entry] = []
        low, high = (float(np.float32(self.value(name))) for name in ("min_duration", "max_duration"))
        for manifest in self.value("manifest_filepaths"):
            self._entries += read_manifest(manifest, low, high, read_text=self.value("read_text"))
        if not self.value("manifest_filepaths"):
            raise self.fail("``manifest_filepaths`` can not be empty", "manifest_filepaths")
        if not self._entries:
            names = ", ".join(shown(str(manifest)) for manifest in self.value("manifest_filepaths"))
            raise self.fail(f"No files found: no line of {names} names a sound that may be read", "manifest_filepaths")
        self._paths = Paths([entry.path for entry in self._entries])
        return len(self._entries)

    def extents(self) -> tuple[Extent, ...]:
        sound = Extent((-1,) if self.value("downmix") else (-1, -1), self.value("dtype"))
        rest = {"sample_rate": Extent((), FLOAT), "text": Extent((-1,), UINT8), "index": Extent((1,), INT64)}
        return (sound, *(rest[output.name] for output in self.present_outputs(self.values)[1:]))

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._entries[row].path for row in rows.tolist())

    def sample_names(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        entries = [self._entries[row] for row in rows.tolist()]
        return tuple(f"{each.path} at {each.offset:g} s" if each.offset > 0 else each.path for each in entries)

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        entries = (self._entries[row][1:] for row in rows.tolist())
        return (f"{path}\0{entry}" for path, entry in zip(self._paths.full_names(rows), entries, strict=True))

    def unmatched(self) -> Iterable[Unmatched]:
        from dali_lab.operators.readers.file_list import matcher
        from dali_lab.operators.readers.unmatched import unlisted_files

        paths = self._paths.names
        endings = sorted({f"*{os.path.splitext(path)[1]}" for path in paths} - {"*"})
        if endings:
            yield from unlisted_files(
                paths, matcher(endings, False), "files beside the sounds that no line of a manifest names"
            )

    def run(self, call: Call) -> tuple[Batch, ...]:
        from dali_lab.codecs.audio import peek_audio

        rows = call.ticket[call.start : call.start + call.count]
        entries = [self._entries[row] for row in rows.tolist()]
        data = read_files(call, self._paths, rows, self.sources(rows))
        spans = np.array([(entry.offset, entry.duration) for entry in entries], np.float64).reshape(-1, 2)
        rate = np.float32(max(self.value("sample_rate"), 0))
        sounds, rates = decode_sounds(call, data, np.full(len(entries), rate), spans)
        results = [sounds]
        if self.value("read_sample_rate"):
            if rate:
                rates = np.array([peek_audio(array).sample_rate for array in data.arrays()], np.float32)
            results.append(Batch.dense(rates, dtype=FLOAT))
        if self.value("read_text"):
            results.append(_texts([entry.text for entry in entries]))
        if self.value("read_idxs"):
            results.append(Batch.dense(np.array([[entry.number] for entry in entries], np.int64), dtype=INT64))
        for result in results:
            result.sources = data.sources
        return tuple(results)


def _texts(texts: list[bytes]) -> Batch:
    sizes = np.array([len(text) for text in texts], np.int64)
    memory: npt.NDArray[np.uint8] = np.frombuffer(b"".join(texts), np.uint8).copy()
    return Batch(memory.ctypes.data + np.cumsum(sizes) - sizes, sizes[:, None], UINT8, "", (memory,))


def read_manifest(path: str, low: float, high: float, *, read_text: bool) -> list[Entry]:
    """The lines of a manifest that are to be read.

    Parameters
    ----------
    path
        The manifest.
    low, high
        Least and largest duration, each if it is more than 0.
    read_text
        Whether transcripts are wanted.

    Raises
    ------
    ArgumentError
        If the manifest cannot be read, or a line is damaged; it names the line.
    """
    try:
        lines = read_file(path).split(b"\n")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read '{path}': {reason(error, path)}", argument="manifest_filepaths") from error
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(_ManifestLineWithText if read_text else _ManifestLine).decode
    entries: list[Entry] = []
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith(b"{"):
            _skip(path, row, "is not an object")
            continue
        try:
            said = decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            try:
                said = _unusual(line, read_text)
            except (ValueError, RecursionError, OverflowError) as error:
                message = f"line {row} of '{path}' is damaged: {error}"
                raise ArgumentError(message, argument="manifest_filepaths") from error
        duration = said.duration
        if not (math.isfinite(said.offset) and math.isfinite(duration)):
            message = f"line {row} of '{path}' is damaged: 'offset' and 'duration' are numbers of seconds"
            raise ArgumentError(message, argument="manifest_filepaths")
        if not said.audio_filepath:
            _skip(path, row, "names no 'audio_filepath'")
        elif not (high > 0 and duration > high) and not (low > 0 and duration < low):
            text = said.text.encode("utf-8", "surrogateescape").split(b"\0", 1)[0] if read_text else b""
            entries.append(Entry(said.audio_filepath, said.offset, duration, text, len(entries)))
    return entries


class _ManifestLine(msgspec.Struct, gc=False):
    """The fields of a line."""

    audio_filepath: str = ""
    offset: float = 0.0
    duration: float = -1.0


class _ManifestLineWithText(_ManifestLine, gc=False):
    text: str = ""


def _unusual(line: bytes, read_text: bool) -> Any:
    """A line that is not UTF-8, or is damaged: :class:`ValueError` says how."""
    value = json.loads(line.decode("utf-8", "surrogateescape"))
    name = _part(value, "audio_filepath", str, "")
    offset, duration = (float(_part(value, *part)) for part in (("offset", _NUMBER, 0), ("duration", _NUMBER, -1)))
    if not read_text:
        return _ManifestLine(name, offset, duration)
    said = _ManifestLineWithText(name, offset, duration, _part(value, "text", str, ""))
    said.text.encode("utf-8", "surrogateescape")
    return said


_NUMBER = (int, float)


def _part(value: dict[str, Any], name: str, kind: Any, default: Any) -> Any:
    found = value.get(name, default)
    if not isinstance(found, kind) or isinstance(found, bool) or found in (np.inf, -np.inf) or found != found:
        raise ValueError(f"{name!r} is {found!r:.60}")
    return found


def _skip(path: str, number: int, reason: str) -> None:
    warnings.warn(f"line {number} of '{path}' {reason} and is left out", stacklevel=2)
