"""Mel-frequency cepstral coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.audio.signals import ROUNDING
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, flag, integer, number, register, samples

_DCT_TYPE = "Unsupported DCT type: {:g}. Supported types are: 1, 2, 3, 4"


@register
class MFCC(Operator):
    """Gives the first coefficients of the cosine transform along one axis of a mel spectrogram.

    With a `lifter` other than 0, coefficient `i` is then multiplied by ``1 + lifter / 2 · sin(π (i + 1) / lifter)``.
    """

    name = "mfcc"
    schema_name = "MFCC"
    title = "MFCC"
    differs = "Values agree to within 3e-5, as sums of float32 are formed in another order."
    inputs = (Input("mels", dims=(2, 3, 4, 5), dtypes=(FLOAT,), doc="A mel spectrogram, FLOAT of 2 to 5 axes."),)
    outputs = (
        Output(
            "coefficients", dtype=FLOAT, doc="The coefficients: `n_mfcc` along `axis`, the other axes as in the input."
        ),
    )
    on_gpu = True
    gpu_tolerance = (1e-5, "products are added to the sum one by one, and on the CPU at times together")
    arguments = (
        integer("n_mfcc", 20, "Number of coefficients; no more than there are mels.", minimum=1, important=True),
        integer(
            "dct_type",
            2,
            "Type of the cosine transform, I to IV.",
            minimum=1,
            maximum=4,
            refused_as=_DCT_TYPE,
            refused_above=_DCT_TYPE,
        ),
        flag("normalize", "Use an orthonormal basis; not for type I."),
        integer(
            "axis", 0, "The axis to transform.", minimum=0, refused_as="Provided axis cannot be negative, got {:g}"
        ),
        number("lifter", 0.0, "Strength of the lifter.", slider=(0.0, 100.0)),
    )
    example = ">>> fn.mfcc(fn.to_decibels(mels), n_mfcc=40, dct_type=2)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if values.get("normalize") and values.get("dct_type", 2) == 1:
            raise ArgumentError(
                "is not possible with 'dct_type' 1: Ortho-normalization is not supported for DCT type I",
                argument="normalize",
            )

    def setup(self) -> None:
        self._tables: dict[int, npt.NDArray[np.float32]] = {}

    def _table(self, length: int) -> npt.NDArray[np.float32]:
        """Weights of the coefficients of an axis of `length` elements, ``[n_mfcc, length]``."""
        if length not in self._tables:
            rows = cosine_table(
                length, min(self.value("n_mfcc"), length), self.value("dct_type"), self.value("normalize")
            )
            lifter = self.value("lifter")
            if lifter:
                index = np.arange(1, len(rows) + 1)[:, None]
                rows = rows * (1 + lifter / 2 * np.sin(np.pi * index / lifter))
            self._tables[length] = rows.astype(np.float32)
        return self._tables[length]

    def run(self, call: Call, mels: Batch) -> Batch:
        from dali_lab.kernels.cpu.memory import like

        axis = self.value("axis")
        if axis >= mels.ndim:
            message = f"{axis} is not an axis of samples with {mels.ndim} dimensions."
            message += f" Axis {axis} is out of bounds [0,{mels.ndim})"
            raise call.problem(message, argument="axis")
        lengths = mels.shapes[:, axis]
        if self.value("dct_type") == 1 and (lengths == 1).any():
            raise call.problem("type 1 needs more than one element", argument="dct_type", sample=int(lengths.argmin()))
        result_shapes = mels.shapes.copy()
        result_shapes[:, axis] = np.minimum(lengths, self.value("n_mfcc"))
        out = call.allocate(result_shapes, FLOAT, mels.layout)
        shapes = np.stack(
            [mels.shapes[:, :axis].prod(axis=1), lengths, mels.shapes[:, axis + 1 :].prod(axis=1)], axis=1
        )
        for length in np.unique(lengths).tolist():
            if length == 0:
                continue
            part = np.flatnonzero(lengths == length)
            table = self._table(length)
            bounds = np.empty((1, len(table), 2), np.int64)
            bounds[:] = (0, length)
            call.kernels("audio").filter_bank(
                mels.addresses[part], out.addresses[part], shapes[part], np.zeros(len(part), np.int64), bounds,
                table[None], np.ones((1, len(table)), np.float32), like(np.float32),
            )  # fmt: skip
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        mels = samples.tensors(((40, 5), (40, 3), (17, 4)))
        for kind in (1, 2, 3, 4):
            yield Case((mels,), {"dct_type": kind}, tolerance=4e-6, reason=ROUNDING)
            yield Case((mels,), {"dct_type": kind, "n_mfcc": 13, "lifter": 22.0}, tolerance=3e-5, reason=ROUNDING)
            if kind > 1:
                yield Case((mels,), {"dct_type": kind, "normalize": True, "n_mfcc": 7}, tolerance=4e-6, reason=ROUNDING)
        yield Case((mels,), {"n_mfcc": 100}, tolerance=4e-6, reason=ROUNDING)
        yield Case(((mels, "ft"),), {"n_mfcc": 3, "axis": 1}, tolerance=4e-6, reason=ROUNDING)
        yield Case((mels,), {"n_mfcc": 3, "lifter": -22.0}, tolerance=3e-5, reason=ROUNDING)
        blocks = samples.tensors(((2, 3, 9, 2), (1, 2, 11, 3)))
        yield Case((blocks,), {"n_mfcc": 5, "axis": 2}, tolerance=4e-6, reason=ROUNDING)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        mels = samples.tensors(((4, 5),))
        yield ErrorCase((mels,), {"axis": 2}, words=("axis", "2"))
        yield ErrorCase((mels,), {"axis": -1}, words=("Provided axis cannot be negative",))
        yield ErrorCase((mels,), {"dct_type": 10}, words=("Unsupported DCT type: 10. Supported types are: 1, 2",))
        yield ErrorCase((mels,), {"dct_type": 1, "normalize": True}, words=("normalize", "dct_type"))
        yield ErrorCase((samples.tensors(((1, 3),)),), {"dct_type": 1}, words=("dct_type", "sample 0"))


def cosine_table(length: int, count: int, kind: int, normalized: bool) -> npt.NDArray[np.float64]:
    """The first `count` rows of a discrete cosine transform of type `kind` (1 to 4) over `length` elements."""
    k, n = np.mgrid[0:count, 0:length].astype(np.float64)
    if kind == 1:
        rows = np.cos(np.pi / (length - 1) * n * k)
        rows[:, 0] = 0.5
        rows[:, -1] = 0.5 * (-1.0) ** np.arange(count)
        return np.asarray(rows)
    if kind == 2:
        rows = np.cos(np.pi / length * (n + 0.5) * k)
    elif kind == 3:
        rows = np.cos(np.pi / length * n * (k + 0.5))
        rows[:, 0] = 0.5
    else:
        rows = np.cos(np.pi / length * (n + 0.5) * (k + 0.5))
    if normalized:
        rows *= np.sqrt(2.0 / length)
        if kind == 2:
            rows[0] *= np.sqrt(0.5)
        elif kind == 3:
            rows[:, 0] *= np.sqrt(2.0)
    return np.asarray(rows)
