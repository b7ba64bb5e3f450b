"""Reads the LMDB files of Caffe2."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.operators.readers.list_reader import READER
from dali_lab.operators.readers.lmdb.reader import PATH, Columns, ForeignRecordError, LmdbReader
from dali_lab.schema import Output, flag, integer, register

SINGLE, SPARSE, DENSE, WEIGHTED, NONE = range(5)
"""Kinds of labels: one number; numbers of classes; a vector; numbers of classes with weights; none."""


@register
class Caffe2(LmdbReader):
    """Reads pictures, labels and other tensors from LMDB files of Caffe2.

    Records are ``TensorProtos`` messages: the picture, the label, `additional_inputs` tensors, and a bounding box at
    last. With weighted labels the weights are the first of the additional tensors; after other sparse labels, one
    tensor is skipped. Pictures that are not encoded have the layout HWC.
    """

    name = "readers.caffe2"
    title = "Caffe2 reader"
    outputs = (
        Output("encoded", kind="encoded", doc="The bytes of each picture, one-dimensional UINT8, or the picture."),
        Output("labels", kind="tensor", doc="The label: INT32 or FLOAT, one number or a vector, by `label_type`."),
    )
    differs = (
        "With sparse labels there is one more output, as in NVIDIA DALI, where a bounding box must fill it; here"
        " it is empty without one."
    )
    tested_elsewhere = "tests/unit/readers/test_caffe.py"
    arguments = (
        PATH,
        integer(
            "label_type",
            SINGLE,
            "0: one number; 1: numbers of the classes that apply, given out as a vector of zeros and ones; 2: a vector;"
            " 3: like 1, with weights instead of ones; 4: no label.",
            minimum=SINGLE,
            maximum=NONE,
            important=True,
        ),
        integer("num_labels", 1, "Number of classes, for sparse labels.", minimum=1),
        flag("image_available", "Records have pictures; without, there is no output for them.", default=True),
        integer("additional_inputs", 0, "Number of other tensors in each record.", minimum=0, maximum=1000),
        flag("bbox", "Records end with a bounding box, INT32 of shape (4,); (0,) where there is none."),
        *READER,
    )
    example = '>>> encoded, labels = fn.readers.caffe2(path="lmdb", random_shuffle=True, name="Reader")'

    @classmethod
    def present_outputs(cls, values: Mapping[str, Any]) -> tuple[Output, ...]:
        present = (values.get("image_available", True), values.get("label_type", SINGLE) != NONE)
        return tuple(itertools.compress(cls.outputs, present))

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        kind = values.get("label_type", SINGLE)
        labels = 0 if kind == NONE else 1 + (kind in (SPARSE, WEIGHTED))
        picture, box = int(values.get("image_available", True)), int(values.get("bbox", False))
        return picture + labels + int(values.get("additional_inputs", 0)) + box

    def parsed(self, record: bytes) -> Columns:
        from google.protobuf.message import DecodeError

        from dali_lab.operators.readers.lmdb.messages import caffe2_messages

        try:
            tensors = caffe2_messages().TensorProtos.FromString(record).protos
        except DecodeError as error:
            raise ForeignRecordError(f"{len(record)} bytes are no 'TensorProtos' of Caffe2") from error
        kind = self.value("label_type")
        picture, labelled = self.value("image_available"), kind != NONE
        first = picture + labelled
        # NVIDIA DALI takes weights for the first of the other tensors, and skips a tensor after sparse labels.
        others = first + (kind == SPARSE)
        last = others + self.value("additional_inputs")
        needed = max(last if last > others else first, first + (kind == WEIGHTED))
        if len(tensors) < needed:
            raise ForeignRecordError(f"it has {len(tensors)} tensors, not {needed}; see 'label_type' and others")
        columns: Columns = []
        if picture:
            columns.append(_picture(tensors[0]))
        if labelled:
            columns.append(self._label(tensors[picture : picture + 2]))
        columns += [_numbers(tensor, "an additional tensor") for tensor in tensors[others:last]]
        missing = self.output_count(self.values) - len(columns)
        box = max(last, needed)
        if missing and len(tensors) == box + 1:
            columns.append(_box(tensors[box]))
            missing -= 1
        return columns + [np.empty(0, np.int32)] * missing

    def _label(self, tensors: Any) -> npt.NDArray[Any]:
        """The label in the first tensor, with weights in the second one."""
        kind, count = self.value("label_type"), self.value("num_labels")
        numbers = _numbers(tensors[0], "the label", wide=False)
        if kind == DENSE:
            return numbers
        if kind == SINGLE:
            if len(numbers) != 1:
                raise ForeignRecordError(f"the label has {len(numbers)} numbers; see 'label_type'")
            return numbers
        with np.errstate(invalid="ignore"):
            classes = numbers.astype(np.int64)
        if ((classes < 0) | (classes >= count)).any():
            raise ForeignRecordError(
                f"Label index out of bounds: {classes.tolist()} is not in [0, {count - 1}]; see 'num_labels'"
            )
        if kind == SPARSE:
            label = np.zeros(count, numbers.dtype)
            label[classes] = 1
            return label
        weights = np.array(tensors[1].float_data, np.float32)
        if len(weights) < len(classes):
            raise ForeignRecordError(f"it has {len(weights)} weights for {len(classes)} labels")
        label = np.zeros(count, np.float32)
        for number, weight in zip(classes, weights, strict=False):  # the last one counts
            label[number] = weight
        return label


def _picture(tensor: Any) -> npt.NDArray[np.uint8]:
    from dali_lab.operators.readers.lmdb.messages import BYTE, STRING

    if tensor.data_type == STRING:
        if not tensor.string_data:
            raise ForeignRecordError("the picture is missing")
        return np.frombuffer(tensor.string_data[0], np.uint8)
    if tensor.data_type != BYTE or len(tensor.dims) < 2:
        raise ForeignRecordError(f"the picture has the data type {tensor.data_type}, neither STRING nor BYTE")
    shape = (tensor.dims[0], tensor.dims[1], tensor.dims[2] if len(tensor.dims) == 3 else 1)
    pixels = np.frombuffer(tensor.byte_data, np.uint8)
    if min(shape) < 0 or shape[0] * shape[1] * shape[2] != len(pixels):
        raise ForeignRecordError(
            f"Image data size mismatch: a picture of {len(pixels)} bytes cannot have the shape {shape}"
        )
    return pixels.reshape(shape)


def _numbers(tensor: Any, what: str, *, wide: bool = True) -> npt.NDArray[Any]:
    """The numbers in a tensor; with `wide` they may be INT64."""
    from dali_lab.operators.readers.lmdb.messages import FLOAT, INT32, INT64

    if tensor.data_type == FLOAT:
        return np.array(tensor.float_data, np.float32)
    if tensor.data_type == INT32:
        return np.array(tensor.int32_data, np.int32)
    if tensor.data_type == INT64 and wide:
        return np.array(tensor.int64_data, np.int64)
    allowed = "FLOAT, INT32 or INT64" if wide else "FLOAT or INT32"
    raise ForeignRecordError(f"{what} has the data type {tensor.data_type}, not {allowed}; see 'label_type'")


def _box(tensor: Any) -> npt.NDArray[Any]:
    from dali_lab.operators.readers.lmdb.messages import INT32

    if tensor.data_type != INT32 or len(tensor.int32_data) != 4:
        raise ForeignRecordError("its last tensor is not a bounding box of four INT32")
    return np.array(tensor.int32_data, np.int32)
