"""Raises high frequencies of sound against low ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import BOOL, FLOAT, FLOAT16, FLOAT64, INT16, INT32, UINT8, numpy_dtype
from dali_lab.operators.tensor.cast import cast
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import choice, share

BORDERS = ("zero", "clamp", "reflect")


@register
class PreemphasisFilter(Operator):
    """Subtracts from each element a part of the one before it: ``y[t] = x[t] − c · x[t − 1]``.

    The elements of a sample are taken in the order in which they lie in memory, whatever its shape.
    """

    name = "preemphasis_filter"
    title = "Pre-emphasis"
    differs = "Values agree to one rounding: the product and the difference are rounded one by one or together."
    inputs = (Input("data", kind="audio", doc="Sound of any type but FLOAT16 and BOOL."),)
    outputs = (Output("data", kind="audio", doc="The filtered sound, with the shape of the input, of `dtype`."),)
    on_gpu = True
    gpu_tolerance = (2e-7, "the product and the difference are rounded one by one or together")
    arguments = (
        choice("border", "clamp", BORDERS, "What stands before the first element: 0, itself, or the second."),
        share(
            "preemph_coeff",
            0.97,
            "The part ``c`` of the element before that is subtracted.",
            tensor=True,
            important=True,
        ),
        Arg("dtype", "dtype", FLOAT, "Type of the result."),
    )
    example = ">>> fn.preemphasis_filter(sound, preemph_coeff=0.97)"

    def run(self, call: Call, data: Batch) -> Batch:
        from dali_lab.kernels.cpu.memory import like

        wanted = self.value("dtype")
        for what, dtype in (("takes", data.dtype), ("gives", wanted)):
            if dtype in (FLOAT16, BOOL):
                raise call.problem(
                    f"{what} numbers other than FLOAT16, got {dtype.name}",
                    argument=None if what == "takes" else "dtype",
                )
        # Products are made in float32 from types that it holds, else in float64.
        real = FLOAT64 if data.itemsize == 8 else FLOAT
        source = converted(data, real) if call.gpu is None else cast(call, data, real)
        border = BORDERS.index(self.value("border"))
        direct = wanted == real
        result = (call.allocate if direct else call.scratch)(data.shapes, real, data.layout)
        kind = numpy_dtype(real)
        coefficients = call.numbers("preemph_coeff").astype(kind)
        call.kernels("audio").preemphasis(
            source.addresses, result.addresses, data.sizes, coefficients, border, like(kind)
        )
        if call.gpu is not None:
            return cast(call, result, wanted)
        return result if direct else converted(result, wanted, call.allocate(data.shapes, wanted, data.layout))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rounding = "the product and the difference are rounded one by one or together"
        waves = samples.waves()
        coefficients = PerSample.of(0.0, 0.5, 1.7)
        for border in BORDERS:
            yield Case((waves,), {"border": border}, tolerance=2e-7, reason=rounding)
            yield Case((waves,), {"border": border, "preemph_coeff": coefficients}, tolerance=4e-7, reason=rounding)
        yield Case((samples.tensors(((3, 4), (1, 1), (7, 2))),), {}, tolerance=2e-7, reason=rounding)
        yield Case(
            ((samples.tensors(((30, 2), (2, 2))), "tc"),), {"border": "reflect"}, tolerance=2e-7, reason=rounding
        )
        for dtype in (np.uint8, np.int16, np.int32, np.uint16):
            rows = [row // 4 for row in samples.tensors(((50,), (31,), (9,)), dtype)]
            yield Case((rows,), {"dtype": FLOAT}, tolerance=1e-7 * np.iinfo(dtype).max, reason=rounding)
        rows = samples.tensors(((50,), (31,), (9,)), np.int16)
        level = "a half-way value may round to either level"
        for wanted in (INT16, UINT8, INT32):
            yield Case((rows,), {"dtype": wanted, "preemph_coeff": 0.5}, tolerance=1, reason=level)
        yield Case((rows,), {"dtype": FLOAT64}, tolerance=0.004, reason=rounding)
        yield Case((samples.tensors(((20,), (3,)), np.float64),), {"dtype": FLOAT64}, tolerance=1e-7, reason=rounding)
        endless = [np.array(row, np.float32) for row in ((1, np.inf, 2, 3), (np.nan, 4), (-np.inf, 5, 6))]
        yield Case((endless,), {"preemph_coeff": 0.0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.waves(),), {"dtype": FLOAT16}, words=("dtype", "FLOAT16"))
        yield ErrorCase((samples.tensors(((9,), (3,)), np.float16),), words=("FLOAT16",))
