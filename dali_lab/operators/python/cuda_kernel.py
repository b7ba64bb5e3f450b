"""Runs a kernel of the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import integers, numbers, string

_EXAMPLE = "__device__ void dali_lab_example(const Sample& s, i64 i) { s.out[i] = s.in0[i] * s.numbers[0]; }"


@register
class CudaKernel(Operator):
    """Runs a kernel that was registered with `dali_lab.plugin.cuda.register`: CUDA C++, or a Python function.

    C++ runs for every element of the output, on a GPU or compiled for the CPU.
    """

    name = "experimental.cuda_kernel"
    family = "tensor"
    title = "CUDA kernel"
    inputs = (Input("inputs", kind="any", doc="Any batches.", variadic=True),)
    outputs = (Output("output", doc="What the kernel wrote, of `shape`, `dtype` and `output_layout`."),)
    on_gpu = True
    whole_batch = True
    beyond_dali = True
    arguments = (
        string("kernel", REQUIRED, "Name under which the kernel was registered.", important=True),
        Arg("dtype", "dtype", None, "Type of the output; that of the first input if not given."),
        integers("shape", (), "Shape of the output; that of the first input if not given.", tensor=True, fed=INTEGERS),
        Arg("output_layout", "layout", None, "Layout of the output; that of the first input if not given."),
        numbers("numbers", (), "Up to 16 numbers for the kernel.", tensor=True),
    )
    example = '>>> fn.experimental.cuda_kernel(images, kernel="invert")'

    def run(self, call: Call, *inputs: Batch) -> Batch:
        from dali_lab.kernels.cuda.user import NUMBERS_MOST, UserSource, registered

        try:
            kernel = registered(str(self.value("kernel")))
        except KeyError as error:
            raise call.problem(str(error.args[0]), argument="kernel") from None
        first = inputs[0]
        shapes = self._shapes(call, first)
        dtype = self.value("dtype") if self.value("dtype") is not None else first.dtype
        layout = self.value("output_layout")
        if layout is None:
            layout = first.layout if shapes.shape[1] == first.ndim else ""
        elif len(layout) != shapes.shape[1]:
            raise call.problem(
                f"'{layout}' has {len(layout)} letters for {shapes.shape[1]} axes", argument="output_layout"
            )
        out = call.allocate(shapes, dtype, layout)
        numbers = np.zeros((call.count, NUMBERS_MOST), np.float32)
        for index, row in enumerate(call.lists("numbers") or []):
            if row.size > NUMBERS_MOST:
                raise call.problem(f"takes at most {NUMBERS_MOST} numbers, got {row.size}", argument="numbers")
            numbers[index, : row.size] = row
        run = self._run_source if isinstance(kernel, UserSource) else self._run_function
        run(call, kernel, inputs, out, numbers)
        return out

    def _shapes(self, call: Call, first: Batch) -> npt.NDArray[np.int64]:
        rows = call.lists("shape", np.int64) if self.has("shape") else None
        if rows is None or not any(row.size for row in rows):
            return first.shapes
        if len({row.size for row in rows}) > 1 or any((row < 0).any() for row in rows):
            raise call.problem("must have as many extents in each sample, none negative", argument="shape")
        return np.stack(rows)

    @staticmethod
    def _run_source(call: Call, source: Any, inputs: tuple[Batch, ...], out: Batch, numbers: Any) -> None:
        from dali_lab.kernels.cuda.host import CompileError
        from dali_lab.kernels.cuda.kernel import short
        from dali_lab.kernels.cuda.user import AXES, user_kernel

        kinds = tuple(short(batch.kind) for batch in inputs)
        kernel = user_kernel(source, kinds, short(out.kind))
        columns: dict[str, Any] = {"out": out.addresses, "total": out.sizes, "numbers": numbers}
        for name, batch in (("out", out), *((f"in{k}", batch) for k, batch in enumerate(inputs))):
            if batch.ndim > AXES:
                raise call.problem(f"takes at most {AXES} dimensions, got {batch.ndim}")
            columns.setdefault(name, batch.addresses)
            columns[f"{name}_shape"] = np.pad(batch.shapes, ((0, 0), (0, AXES - batch.ndim)))
        try:
            if call.gpu is not None:
                kernel.launch(call.gpu, (), out.sizes, columns)
            else:
                kernel.run_on_host((), out.sizes, columns)
        except CompileError as error:
            types = ", ".join(batch.dtype.name for batch in inputs)
            raise call.problem(
                f"the source of {source.name!r} does not compile for {types} into {out.dtype.name}"
                f" (elements of FLOAT16 go through widen and saturate)\n{error}",
                argument="kernel",
            ) from error

    @staticmethod
    def _run_function(call: Call, kernel: Any, inputs: tuple[Batch, ...], out: Batch, numbers: Any) -> None:
        if call.gpu is None:
            kernel.function([out.arrays()], [batch.arrays() for batch in inputs], numbers)
            return
        device, stream = call.gpu.device, call.gpu.stream

        def work() -> None:
            with device.current(stream):
                kernel.function([device.arrays(out)], [device.arrays(batch) for batch in inputs], numbers)

        for batch in inputs:
            call.gpu.keep(batch)
        stream_work = device.host_work(stream, work)
        call.gpu.then(stream_work)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        from dali_lab.kernels.cuda.user import register as add

        add("dali_lab_example", source=_EXAMPLE)
        yield Case((samples.pictures(),), {"kernel": "dali_lab_example", "numbers": (0.5,)})
        yield Case(
            (samples.pictures(dtype=np.float32),), {"kernel": "dali_lab_example", "numbers": (3.0,), "dtype": UINT8}
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        from dali_lab.kernels.cuda.user import register as add

        add("dali_lab_example", source=_EXAMPLE)
        yield ErrorCase((samples.pictures(),), {"kernel": "dali_lab_exampel"}, words=("kernel", "register"))
        half = samples.pictures(dtype=np.float16)
        yield ErrorCase((half,), {"kernel": "dali_lab_example"}, words=("kernel", "does not compile", "FLOAT16"))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        """Nothing: kernels may be registered until the pipeline runs."""
