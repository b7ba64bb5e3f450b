"""Reads the RecordIO files of MXNet."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import reason
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, UINT8
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.large_files import LargeFiles
from dali_lab.operators.readers.list_reader import FILES_AFTER_EPOCH, READER
from dali_lab.operators.readers.range_readers import RecordReader
from dali_lab.operators.readers.records.index import read_index
from dali_lab.schema import Call, Output, register, strings
from dali_lab.schema.arguments import REQUIRED

Table = npt.NDArray[np.int64]

_MAGIC = 0xCED7230A
_LENGTH = (1 << 29) - 1
"""Bits of a part's length; those above say whether it is the whole record (0), or its last part (3)."""
_LAST = 3
_FRAME = 8
_HEADER = np.dtype([("magic", "<u4"), ("part", "<u4"), ("labels", "<u4"), ("label", "<f4"), ("ids", "<u8", 2)])
"""Header of a picture's record: its label, or the number of labels that follow."""
_LABEL = 12
"""Offset of the label in it."""


@register
class MXNet(RecordReader):
    """Reads pictures and labels from RecordIO files of MXNet.

    An index file says where records begin, counted through all files. Its lines have a number and a position; records
    come in the order of their positions.
    """

    name = "readers.mxnet"
    schema_name = "readers__MXNet"
    title = "MXNet reader"
    outputs = (
        Output("encoded", kind="encoded", doc="The bytes of each picture, one-dimensional UINT8."),
        Output("labels", kind="tensor", doc="The label or labels of each picture, one-dimensional FLOAT.", dtype=FLOAT),
    )
    shuffles_list = False
    identifies = True
    locating = ("path", "index_path")
    tested_elsewhere = "tests/unit/readers/test_mxnet.py"
    arguments = (
        strings("path", REQUIRED, "RecordIO files.", widget="path", important=True),
        strings("index_path", REQUIRED, "The index file, only one.", widget="path", important=True),
        *READER,
        *FILES_AFTER_EPOCH,
    )
    example = '>>> encoded, labels = fn.readers.mxnet(path="train.rec", index_path="train.idx", name="Reader")'

    def load(self) -> int:
        paths, indices = self.value("path"), self.value("index_path")
        if not paths:
            raise ArgumentError("is an empty list", argument="path")
        if len(indices) != 1:
            raise ArgumentError(f"takes one file, got {len(indices)}", argument="index_path")
        self._names = paths
        self._files = files = LargeFiles(paths, "path", ahead=self.value("read_ahead"))
        try:
            starts = np.sort(read_index(indices[0])[:, 1])
        except OSError as error:
            raise ArgumentError(
                f"cannot read '{indices[0]}': {reason(error, indices[0])}", argument="index_path"
            ) from error
        if not len(starts):
            raise ArgumentError(f"'{indices[0]}' has no lines with a number and a position", argument="index_path")
        ends = np.cumsum(files.lengths)
        if starts[0] < 0 or starts[-1] > ends[-1]:
            wrong = starts[0] if starts[0] < 0 else starts[-1]
            raise ArgumentError(
                f"'{indices[0]}' has a record at {wrong}, which is not in {_list(paths)} of {ends[-1]} bytes",
                argument="index_path",
            )
        sizes = np.diff(starts, append=ends[-1])
        starts, sizes = starts[sizes > 0], sizes[sizes > 0]
        self._file = np.searchsorted(ends, starts, side="right")
        self._offsets = starts - (ends - files.lengths)[self._file]
        self._sizes = sizes
        return len(starts)

    def batch_sources(self, call: Call, output: int) -> tuple[str, ...]:
        return () if output else self.source_names(call)

    def run(self, call: Call) -> tuple[Batch, ...]:
        rows = call.ticket[call.start : call.start + call.count]
        file, offsets, sizes = self._file[rows], self._offsets[rows], self._sizes[rows]
        sources = self.sources(rows)
        heads = self._heads(call, file, offsets, sizes, sources)
        parts = heads["part"] >> 29
        counts = heads["labels"].astype(np.int64)
        # One label stands in the header; several follow it.
        places = offsets + np.where(counts == 0, _LABEL, _HEADER.itemsize)
        begins = offsets + _HEADER.itemsize + 4 * counts
        lengths = (heads["part"] & _LENGTH).astype(np.int64) + _FRAME - (begins - offsets)
        wrong = (lengths < 0) | (begins + lengths > offsets + sizes)
        if wrong.any():
            raise self._damaged(call, int(wrong.argmax()), sources, "it is longer than its index says")
        labels = self._files.read(call, file, places, 4 * np.maximum(counts, 1), sources, FLOAT, (offsets, sizes))
        if parts.any():
            records = self._files.read(call, file, offsets, sizes, sources, within=(offsets, sizes)).arrays()
            first = (begins - offsets).tolist()
            pictures = [
                self._joined(call, index, sources, record.tobytes(), first[index])
                for index, record in enumerate(records)
            ]
            encoded = Batch.of([np.frombuffer(bytearray(picture), np.uint8) for picture in pictures], dtype=UINT8)
        else:
            encoded = self._files.read(call, file, begins, lengths, sources, within=(offsets, sizes))
        encoded.sources = sources
        return encoded, labels

    def _heads(
        self, call: Call, file: Table, offsets: Table, sizes: Table, sources: tuple[str, ...]
    ) -> npt.NDArray[Any]:
        """The headers of the records."""
        short = sizes < _HEADER.itemsize
        if short.any():
            raise self._damaged(call, int(short.argmax()), sources, "its index leaves it no room")
        counts = np.full(len(offsets), _HEADER.itemsize)
        begun = self._files.read(call, file, offsets, counts, sources, within=(offsets, sizes))
        heads = begun.stacked().view(_HEADER)[:, 0]
        foreign = heads["magic"] != _MAGIC
        if foreign.any():
            raise self._damaged(call, int(foreign.argmax()), sources, "there is no record where the index says so")
        return heads

    def _joined(self, call: Call, index: int, sources: tuple[str, ...], record: bytes, first: int) -> bytes:
        """The picture in a record of several parts, between which there was the magic number."""
        pieces = []
        at = 0
        while True:
            if at + _FRAME > len(record):
                raise self._damaged(call, index, sources, "its last part is missing")
            magic, part = struct.unpack_from("<II", record, at)
            end = at + _FRAME + (part & _LENGTH)
            if magic != _MAGIC or end > len(record):
                raise self._damaged(
                    call, index, sources, "a part does not begin where the last one ends, or is too long"
                )
            pieces.append(record[max(at + _FRAME, first) : end])
            if part >> 29 in (0, _LAST):
                return struct.pack("<I", _MAGIC).join(pieces)
            at = end + -end % 4

    @staticmethod
    def _damaged(call: Call, index: int, sources: tuple[str, ...], reason: str) -> Exception:
        return call.problem(f"the record is damaged: {reason}", sample=index, source=sources[index])


def _list(paths: list[str]) -> str:
    return ", ".join(f"'{path}'" for path in paths)
