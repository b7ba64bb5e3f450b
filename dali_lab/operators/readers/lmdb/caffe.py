"""Reads the LMDB files of Caffe."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.list_reader import READER
from dali_lab.operators.readers.lmdb.reader import PATH, Columns, ForeignRecordError, LmdbReader
from dali_lab.schema import Output, flag, register


@register
class Caffe(LmdbReader):
    """Reads pictures and labels from LMDB files of Caffe.

    Records are ``Datum`` messages. A picture that is marked as not encoded has the layout HWC by its height, width and
    channels.
    """

    name = "readers.caffe"
    title = "Caffe reader"
    outputs = (
        Output("encoded", kind="encoded", doc="The bytes of each picture, one-dimensional UINT8, or the picture."),
        Output("labels", kind="tensor", doc="The label of each picture, INT32 of shape (1,), or (0,) if it has none."),
    )
    tested_elsewhere = "tests/unit/readers/test_caffe.py"
    arguments = (
        PATH,
        flag("image_available", "Records have pictures; without, there is no output for them.", default=True),
        flag("label_available", "Records have labels; without, there is no output for them.", default=True),
        *READER,
    )
    example = '>>> encoded, labels = fn.readers.caffe(path="lmdb", random_shuffle=True, name="Reader")'

    @classmethod
    def present_outputs(cls, values: Mapping[str, Any]) -> tuple[Output, ...]:
        present = (values.get("image_available", True), values.get("label_available", True))
        return tuple(itertools.compress(cls.outputs, present))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if not cls.output_count(values):
            raise ArgumentError("leaves no output without 'image_available'", argument="label_available")

    def parsed(self, record: bytes) -> Columns:
        from google.protobuf.message import DecodeError

        from dali_lab.operators.readers.lmdb.messages import caffe_messages

        try:
            datum = caffe_messages().Datum.FromString(record)
        except DecodeError as error:
            raise ForeignRecordError(f"{len(record)} bytes are no 'Datum' of Caffe") from error
        columns: Columns = []
        if self.value("image_available"):
            picture = np.frombuffer(datum.data, np.uint8)
            if datum.HasField("encoded") and not datum.encoded:
                shape = (datum.height, datum.width, datum.channels)
                if min(shape) < 0 or int(np.prod(shape, dtype=object)) != len(picture):
                    raise ForeignRecordError(f"a picture of {len(picture)} bytes cannot have the shape {shape}")
                picture = picture.reshape(shape)
            columns.append(picture)
        if self.value("label_available"):
            columns.append(np.array([datum.label] if datum.HasField("label") else [], np.int32))
        return columns
