"""Spectra along one axis."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model import buffers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.operators.audio.signals import ROUNDING
from dali_lab.operators.audio.spectrogram import POWER
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, integer, register, samples


@register
class PowerSpectrum(Operator):
    """Gives the spectrum along one axis, which becomes ``nfft // 2 + 1`` frequencies long."""

    name = "power_spectrum"
    differs = "Values agree to within 1e-6 of the largest, as sums of float32 are formed in another order."
    inputs = (Input("data", dtypes=(FLOAT,), kind="tensor", doc="FLOAT of one or more axes."),)
    outputs = (
        Output(
            "spectrum",
            kind="tensor",
            dtype=FLOAT,
            doc="``nfft // 2 + 1`` frequencies along `axis`, the other axes as in the input.",
        ),
    )
    arguments = (
        integer("axis", -1, "The axis; any negative number is the last one.", important=True),
        integer(
            "nfft",
            None,
            "Length of the transform, to which data are cut or filled up with zeros; that of the axis if not given.",
            minimum=1,
            important=True,
        ),
        POWER,
    )
    example = ">>> fn.power_spectrum(signal, nfft=256)"

    def run(self, call: Call, data: Batch) -> Batch:
        from dali_lab.kernels.cpu import spectra
        from dali_lab.kernels.cpu.memory import like

        axis = self.value("axis")
        if axis >= data.ndim or not data.ndim:
            raise call.problem(f"{axis} is not an axis of samples with {data.ndim} dimensions", argument="axis")
        axis = data.ndim - 1 if axis < 0 else axis
        shapes = np.stack(
            [data.shapes[:, :axis].prod(axis=1), data.shapes[:, axis], data.shapes[:, axis + 1 :].prod(axis=1)], axis=1
        )
        sizes = np.full(len(data), self.value("nfft")) if self.value("nfft") else shapes[:, 1]
        call.refuse(sizes == 0, "the axis is empty. Could not initialize ffts plan", argument="axis")
        result_shapes = data.shapes.copy()
        result_shapes[:, axis] = sizes // 2 + 1
        out = call.allocate(result_shapes, FLOAT, data.layout)
        empty = like(np.float32)
        for size in np.unique(sizes).tolist():
            part = np.flatnonzero(sizes == size)
            chosen = shapes[part]
            rows = buffers.empty((int((chosen[:, 0] * chosen[:, 2]).sum()), size), np.float32)
            if not len(rows):
                continue
            spectra.lines(data.addresses[part], chosen, rows, empty)
            spectra.transform(rows)
            spectra.powers(
                rows, out.addresses[part], chosen[:, 0].copy(), chosen[:, 2].copy(),
                self.value("power") == 2, empty,
            )  # fmt: skip
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = samples.tensors(((50,), (64,), (7,)))
        blocks = samples.tensors(((5, 6, 7), (3, 8, 4)))
        yield from Case.each(
            (rows,), {}, {"nfft": 20}, {"nfft": 60}, {"nfft": 64, "power": 1}, tolerance=3e-5, reason=ROUNDING
        )
        for axis in (0, 1, 2, -1, -2):
            yield Case((blocks,), {"axis": axis}, tolerance=2e-5, reason=ROUNDING)
        yield Case((samples.tensors(((0, 6), (0, 9), (0, 6))),))
        yield Case((samples.tensors(((6, 0), (9, 0), (3, 0))),), {"nfft": 8})
        yield Case(((blocks, "abc"),), {"axis": 1, "nfft": 16, "power": 1}, tolerance=2e-5, reason=ROUNDING)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        rows = samples.tensors(((5, 6), (2, 3)))
        yield ErrorCase((rows,), {"axis": 2}, words=("axis", "2"))
        yield ErrorCase((samples.tensors(((5, 0),)),), words=("empty", "Could not initialize ffts plan", "sample 0"))
