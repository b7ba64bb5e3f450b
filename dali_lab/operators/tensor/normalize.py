"""Removes the mean and divides by the standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import over_elements
from dali_lab.operators.math.elementwise import apply
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.axes import ONE_WAY, axes_arguments, chosen_axes
from dali_lab.schema.presets import flag, integer, number

Array = npt.NDArray[Any]
_DIRECT = (dtypes.UINT8, dtypes.FLOAT)
"""Types that the kernel takes; others become FLOAT first."""


@register
class Normalize(Operator):
    """Removes the mean and divides by the standard deviation: ``scale * (in - mean) / stddev + shift``.

    Mean and deviation are found along `axes`, in each sample or over the whole batch, or given: as numbers, or as
    tensors of as many dimensions as the input, with one element along the axes that are reduced. Where `axes` are not
    given, they are those in which such a tensor has one element.
    A deviation that is found to be 0 gives `shift`; a given one of 0 gives infinities.

    Means and variances add up in FLOAT, halves of the data apart. Found deviations come from the processor's estimate
    of reciprocal roots and a step of Newton's method: makes of processors differ in the last two bits.
    """

    name = "normalize"
    outputs = (Output("output", doc="With the shape and layout of the input, of `dtype`."),)
    whole_batch = True
    inputs = (Input("data", kind="tensor", doc="Any tensors."),)
    on_gpu = True
    gpu_tolerance = (
        4e-6,
        "sums are float64, on the CPU float32, and a mean may differ by a step of float32, which counts over the"
        " deviation: 8e-4 for uint16 near its maximum about a deviation of 10, 1e-2 for float32 near 1000 over three"
        " elements that are close together; integers over few elements agree",
    )
    arguments = (
        flag("batch", "Find mean and deviation over the whole batch; the axes that are left must agree."),
        number(
            "mean",
            None,
            "The mean, if it is known; otherwise it is found.",
            tensor=True,
            arrays_are_nodes=True,
            important=True,
        ),
        number(
            "stddev",
            None,
            "The standard deviation, if it is known; otherwise it is found.",
            tensor=True,
            arrays_are_nodes=True,
            important=True,
        ),
        *axes_arguments("Axes along which mean and deviation are found; all by default.", minimum=0),
        number("shift", 0.0, "The value that the mean becomes."),
        number("scale", 1.0, "Factor of the result, for integer types."),
        number("epsilon", 0.0, "Added to the variance, against small divisors.", minimum=0.0),
        integer("ddof", 0, "Subtracted from the number of elements where the variance is found."),
        Arg("dtype", "dtype", dtypes.FLOAT, "Type of the output; values are rounded and kept within its range."),
    )
    rules = (ONE_WAY,)
    differs = (
        "bool, float16 and 64-bit types are taken too. Axes that are named twice count once; NVIDIA DALI reads beyond"
        " the sample then, and its results vary."
    )
    example = '>>> fn.normalize(images, axis_names="HW", dtype=types.FLOAT)'

    def setup(self) -> None:
        if "axes" in self.given and not self.values["axes"]:
            raise self.fail("must name at least one axis", "axes")
        if self.value("batch") and self.connected & {"mean", "stddev"}:
            raise self.fail("cannot be used with a connected mean or deviation", "batch")
        # Only statistics over the batch need all of it at once.
        object.__setattr__(self, "whole_batch", bool(self.value("batch")))

    def run(self, call: Call, data: Batch) -> Batch:
        axes = self._axes(call, data)
        given = {name: self._parameter(call, name, data) for name in ("mean", "stddev") if self.has(name)}
        out = call.allocate(data.shapes, self.value("dtype"), data.layout)
        if not int(out.sizes.sum()):
            return out
        if call.gpu is not None:
            if self.value("batch"):
                self._check_kept(call, data, axes)
            options = {name: self.value(name) for name in ("ddof", "epsilon", "scale", "shift")}
            known = {"mean": given.get("mean"), "deviation": given.get("stddev")}
            kernels = call.kernels("standardize")
            kernels.standardize(data, out, axes, together=bool(self.value("batch")), **known, **options)
            return out
        with np.errstate(all="ignore"):
            if isinstance(given.get("mean"), Batch):
                given["mean"] = _floats(_as_float, given["mean"])
            if "stddev" in given:
                given["factor"] = _floats(self._factor_of_given, given.pop("stddev"))
            if data.dtype not in _DIRECT:
                data = _floats(_as_float, data)
            if not _fits(given.get("mean"), data, axes):
                apart = Batch.allocate(data.shapes, dtypes.FLOAT)
                apply(_ufunc(np.subtract), apart, [data, given["mean"]])
                data, given["mean"] = apart, np.zeros((), np.float32)
            if self.value("batch"):
                given = self._of_batch(call, data, axes, given)
            self._standardize(data, out, axes, given)
        return out

    def _standardize(self, data: Batch, out: Batch, axes: tuple[int, ...], given: dict[str, Batch | Array]) -> None:
        """Fill `out` by one kernel over the chunk."""
        from dali_lab.kernels.cpu.casting import saturate_into
        from dali_lab.kernels.cpu.memory import like, rows
        from dali_lab.kernels.cpu.standardize import standardize
        from dali_lab.kernels.cpu.totals import SUM, exact, levels

        target = out if out.dtype == dtypes.FLOAT else Batch.allocate(out.shapes, dtypes.FLOAT)
        kind, factor, shift = data.kind, given.get("factor"), float(self.value("shift"))
        late = not _fits(factor, data, axes)
        standardize(
            rows(data.addresses), rows(target.addresses), levels(data.shapes, axes), exact(SUM, kind, np.float32),
            *_table(given.get("mean"), len(data)), *_table(np.ones((), np.float32) if late else factor, len(data)),
            self.value("ddof"), self.value("epsilon"), self.value("scale"), 0.0 if late else shift,
            like(kind), like(np.float32),
        )  # fmt: skip
        if late and factor is not None:
            apply(_ufunc(np.multiply), target, [target, factor])
            apply(_ufunc(np.add), target, [target, np.array(shift)])
        if target is not out:
            apply(saturate_into, out, [target])

    def _axes(self, call: Call, data: Batch) -> tuple[int, ...]:
        axes = chosen_axes(call, data, repeated=True)
        if axes is not None:
            return tuple(sorted(set(axes)))
        reduced = np.ones(data.ndim, bool)
        for name in ("mean", "stddev"):
            batch = call.batches.get(name)
            if batch is not None and batch.ndim == data.ndim:
                reduced &= (batch.shapes == 1).all(axis=0)
        return tuple(np.flatnonzero(reduced).tolist())

    def _parameter(self, call: Call, name: str, data: Batch) -> Batch | Array:
        """A given mean or deviation: a number, or a batch with as many dimensions as the input."""
        batch = call.batches.get(name)
        if batch is None:
            return np.array(self.values[name], np.float32)
        if not batch.ndim:
            return batch.replaced(shapes=np.ones_like(data.shapes))
        if batch.ndim != data.ndim:
            raise call.problem(f"has {batch.ndim} dimensions, the input has {data.ndim}", argument=name)
        wrong = ((batch.shapes != 1) & (batch.shapes != data.shapes)).any(axis=1)
        call.refuse(wrong, "shape {:t} does not fit that of the input, {:t}", batch.shapes, data.shapes, argument=name)
        return batch

    def _factor_of_given(self, deviation: Array) -> Array:
        from dali_lab.kernels.cpu.reciprocal_root import reciprocal_roots

        deviation = np.asarray(deviation, np.float32)
        epsilon, scale = np.float32(self.value("epsilon")), np.float32(self.value("scale"))
        if not epsilon:
            return np.asarray(scale / deviation)
        variance = np.ascontiguousarray(deviation * deviation + epsilon)
        reciprocal_roots(variance.reshape(-1))
        return scale * variance

    def _check_kept(self, call: Call, data: Batch, axes: tuple[int, ...]) -> None:
        kept = [axis for axis in range(data.ndim) if axis not in axes]
        message = "shape {:t} differs from that of sample 0, {:t}, in an axis that is not reduced"
        first = np.broadcast_to(data.shapes[:1], data.shapes.shape)
        call.refuse(data.shapes[:, kept] != first[:, kept], message, data.shapes, first)

    def _of_batch(self, call: Call, data: Batch, axes: tuple[int, ...], given: dict[str, Any]) -> dict[str, Any]:
        """Mean and factor over all samples, where they are not given."""
        from dali_lab.kernels.cpu.standardize import invert
        from dali_lab.kernels.cpu.totals import SPREAD, SUM

        self._check_kept(call, data, axes)
        count = int(data.shapes[:, list(axes)].prod(axis=1).sum())
        result = dict(given)
        if "mean" not in result:
            result["mean"] = self._total(SUM, data, axes) * np.float32(1 / count)
        if "factor" not in result:
            result["factor"] = self._total(SPREAD, data, axes, result["mean"])
            options = (self.value(name) for name in ("ddof", "epsilon", "scale"))
            invert(result["factor"], count, *options)
        return result

    @staticmethod
    def _total(kind: int, data: Batch, axes: tuple[int, ...], mean: Batch | Array | None = None) -> Array:
        """Sums over the batch in float32: those of samples, of which halves are summed apart."""
        from dali_lab.kernels.cpu.memory import like, rows
        from dali_lab.kernels.cpu.totals import SUM, accumulate, exact, levels

        extents, element = levels(data.shapes, axes), data.kind
        each = np.empty((len(data), int(extents[0, 1::2].prod())), np.float32)
        about = _table(mean, len(data))
        few = exact(kind, element, np.float32)
        accumulate(kind, rows(data.addresses), extents, few, *about, each.reshape(-1), like(element))
        result, none = np.empty(each.shape[1], np.float32), np.zeros(0, np.int64)
        place, shape = np.array([each.ctypes.data]), np.array([each.shape])
        accumulate(SUM, place, shape, 1, none, none, result, like(np.float32))
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = (samples.tensors([(3, 4), (2, 4), (6, 4)]), "HW")
        plain: tuple[dict[str, Any], ...] = (
            {},
            {"axes": [0]},
            {"axes": [1]},
            {"axes": [0, 1]},
            {"axis_names": "W"},
            {"axes": [0], "ddof": 1},
            {"axes": [0], "epsilon": 0.5},
            {"mean": 0.25},
            {"stddev": 2.0},
            {"mean": 0.5, "stddev": 0.25},
            {"axes": [0], "mean": 0.5},
            {"scale": 10, "shift": 3},
            {"ddof": 24},
            {"stddev": 0.5, "epsilon": 1},
            {"axes": [1], "epsilon": 4},
            {"batch": True},
            {"batch": True, "axes": [0]},
            {"batch": True, "mean": 0.5},
            {"batch": True, "stddev": 2.0, "axes": [0]},
            {"batch": True, "epsilon": 0.3, "ddof": 1},
        )
        for arguments in plain:
            yield Case((data,), arguments)
        yield Case((data,), {"axes": [0], "dtype": dtypes.UINT8, "scale": 50, "shift": 100})
        yield Case((data,), {"dtype": dtypes.INT32, "scale": 7})
        for dtype in (np.uint8, np.int16, np.int32):
            yield Case((samples.tensors([(3, 4), (2, 4), (6, 4)], dtype),), {"axes": [0]})
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        yield Case((samples.pictures(),), {"axis_names": "HWC", "scale": 64, "shift": 128, "dtype": dtypes.UINT8})
        yield Case((samples.pictures(),), {"axis_names": "HW", "batch": True})
        mean = PerSample([np.array([[0.1, 0.2, 0.3, 0.4]], np.float32) * factor for factor in (1, 2, 0.5)])
        spread = PerSample([np.array([[1, 2, 0.5, 4]], np.float32) * factor for factor in (1, 2, 0.5)])
        column = PerSample([np.full((rows, 1), 0.5, np.float32) for rows in (3, 2, 6)])
        connected: tuple[dict[str, Any], ...] = (
            {"mean": mean},
            {"stddev": spread},
            {"mean": mean, "stddev": spread},
            {"mean": mean, "axes": [0]},
            {"stddev": column},
            {"stddev": spread, "epsilon": 3},
            {"mean": PerSample([np.full((1, 1), value, np.float32) for value in (0.5, 0.25, 0)])},
        )
        for arguments in connected:
            yield Case((data,), arguments)
        yield Case(([np.full((2, 2), 5, np.float32)] * 3,), {"shift": 2})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = (samples.tensors([(3, 4), (2, 4), (6, 4)]), "HW")
        yield ErrorCase((data,), {"axes": [2]}, ("axes", "2"))
        yield ErrorCase((data,), {"axes": []}, ("axes", "at least one"))
        yield ErrorCase((data,), {"axes": [0], "axis_names": "H"}, ("axes", "axis_names"))
        yield ErrorCase((data,), {"axis_names": "Z"}, ("axis_names", "'Z'"))
        yield ErrorCase((data,), {"batch": True, "axes": [1]}, ("sample 1", "(2, 4)"))
        yield ErrorCase((data,), {"mean": PerSample([np.zeros(4, np.float32)] * 3)}, ("mean", "1 dimensions"))
        yield ErrorCase((data,), {"mean": PerSample([np.zeros((1, 3), np.float32)] * 3)}, ("mean", "(1, 3)"))
        yield ErrorCase((data,), {"batch": True, "mean": PerSample([np.zeros((1, 4), np.float32)] * 3)}, ("batch",))


def _as_float(values: Array) -> Array:
    return np.asarray(values, np.float32)


def _floats(function: Callable[[Array], Array], values: Batch | Array) -> Any:
    """A function of all elements of a batch or an array, as FLOAT."""
    if isinstance(values, Batch):
        return over_elements(function, values, dtypes.FLOAT)
    return np.asarray(function(values), np.float32)


def _fits(values: Batch | Array | None, data: Batch, axes: tuple[int, ...]) -> bool:
    """Whether given numbers are one for each sample, or as many as it has results."""
    kept = data.shapes.copy()
    kept[:, list(axes)] = 1
    return not isinstance(values, Batch) or bool((values.shapes == 1).all() or np.array_equal(values.shapes, kept))


def _ufunc(function: np.ufunc) -> Callable[..., None]:
    """A function of arrays, found in the type of the result."""

    def fill(out: Array, *operands: Array) -> None:
        function(*operands, out=out, dtype=out.dtype, casting="unsafe")

    return fill


def _table(values: Batch | Array | None, samples: int) -> tuple[Array, Array]:
    """Addresses of each sample's numbers, and strides: 0 where one number is for all results, else 1; empty if none."""
    if values is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if isinstance(values, Batch):
        return np.ascontiguousarray(values.addresses), np.asarray(values.sizes != 1, np.int64)
    return np.full(samples, values.ctypes.data), np.full(samples, int(values.size != 1))
