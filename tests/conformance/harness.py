"""Runs one case of an operator's declaration in both engines, on the same inputs and seeds."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dali_lab.kernels.cpu.machine import uses
from dali_lab.schema import find_operator
from dali_lab.schema.cases import Case, ErrorCase, PerSample

SEED = 1234
OF_ROOTS = 0.0 if uses("instructions") else 2**-22
"""Relative tolerance of what comes from reciprocal roots, which are the processor's estimates in NVIDIA DALI: where the
portable way computes them, the last two bits differ."""


@functools.cache
def declared(operator: str) -> tuple[Case, ...]:
    """The cases that an operator declares, made once for the tests of a process."""
    return tuple(find_operator(operator).cases())


def expanded(inputs: Sequence[Any], batch_size: int) -> list[tuple[list[np.ndarray], str]]:
    """Each input as a list of arrays, one a sample, with its layout."""
    result = []
    for item in inputs:
        arrays, layout = item if isinstance(item, tuple) else (item, "")
        result.append((list(arrays), layout))
    return result


def argument(value: Any, types: Any, feed: Any) -> Any:
    """An argument of a case as an engine takes it: its own types, and nodes for values of each sample."""
    if isinstance(value, PerSample):
        return feed([np.asarray(v) for v in value.values], value.layout)
    name = type(value).__name__
    if name in ("DALIDataType", "DALIImageType", "DALIInterpType"):
        return getattr(getattr(types, name), value.name)
    if isinstance(value, (list, tuple)) and any(type(v).__name__.startswith("DALI") for v in value):
        return [argument(v, types, feed) for v in value]
    return value


def run(engine: Any, operator: str, case: Case | ErrorCase, *, threads: int = 2, batches: int = 1) -> list[list[dict]]:
    """Run a case on `engine` (the module ``dali_lab`` or ``nvidia.dali``).

    Returns
    -------
    list of list of dict
        For each batch, for each output: ``dtype`` (name), ``layout`` and ``samples`` (arrays).
    """
    types, fn = engine.types, engine.fn
    inputs = expanded(case.inputs, case.batch_size)
    sizes = [len(arrays) for arrays, _ in inputs]
    sizes += [len(value.values) for value in case.arguments.values() if isinstance(value, PerSample)]
    batch_size = sizes[0] if sizes else case.batch_size
    pipeline = engine.Pipeline(batch_size, threads, None, seed=SEED)

    def feed(arrays: list[np.ndarray], layout: str) -> Any:
        options: dict[str, Any] = {"layout": layout} if layout else {}
        return fn.external_source(source=lambda: arrays, **options)

    function = fn
    for part in operator.split("."):
        function = getattr(function, part)
    with pipeline:
        nodes = [feed(arrays, layout) for arrays, layout in inputs]
        arguments = {name: argument(value, types, feed) for name, value in case.arguments.items()}
        outputs = function(*nodes, **arguments)
        pipeline.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    pipeline.build()
    results = []
    for _ in range(batches):
        row = []
        for output in pipeline.run():
            cpu = output.as_cpu()
            row.append(
                {
                    "dtype": cpu.dtype.name,
                    "layout": cpu.layout(),
                    "samples": [np.array(cpu.at(index)) for index in range(len(cpu))],
                }
            )
        results.append(row)
    del pipeline
    return results


def compare(ours: list[list[dict]], theirs: list[list[dict]], case: Case, relative: float = 0.0) -> None:
    """Assert that shape, dtype, layout and values agree within the case's tolerance, and one relative to the values."""
    assert len(ours) == len(theirs)
    for batch, (own_row, other_row) in enumerate(zip(ours, theirs, strict=True)):
        assert len(own_row) == len(other_row), f"batch {batch}: {len(own_row)} outputs, DALI has {len(other_row)}"
        for index, (own, other) in enumerate(zip(own_row, other_row, strict=True)):
            place = f"batch {batch}, output {index}"
            assert own["dtype"] == other["dtype"], f"{place}: dtype {own['dtype']}, DALI has {other['dtype']}"
            assert own["layout"] == other["layout"], f"{place}: layout {own['layout']!r}, DALI has {other['layout']!r}"
            assert len(own["samples"]) == len(other["samples"]), place
            for sample, (left, right) in enumerate(zip(own["samples"], other["samples"], strict=True)):
                _compare_sample(left, right, case, relative, f"{place}, sample {sample}")


def _compare_sample(left: np.ndarray, right: np.ndarray, case: Case, relative: float, place: str) -> None:
    assert left.shape == right.shape, f"{place}: shape {left.shape}, DALI has {right.shape}"
    if left.size == 0:
        return
    a, b = left.astype(np.float64), right.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
    difference = np.where(np.isnan(difference), np.inf, difference)
    beyond = difference > case.tolerance + (relative * np.abs(b) if relative else 0.0)
    if beyond.mean() > case.fraction:
        where = np.unravel_index(int(difference.argmax()), difference.shape)
        raise AssertionError(
            f"{place}: {int(beyond.sum())} of {left.size} elements differ by more than {case.tolerance:g}"
            f" (largest {difference.max():g} at {tuple(map(int, where))}: {left[where]} and DALI's {right[where]})"
        )


def describe(case: Any) -> str:
    """A short name of a case for the test report."""
    if getattr(case, "name", ""):
        return str(case.name)
    parts = [f"{key}={_short(value)}" for key, value in case.arguments.items()]
    for item in case.inputs:
        arrays, layout = item if isinstance(item, tuple) else (item, "")
        first = np.asarray(arrays[0]) if len(arrays) else np.zeros(0)
        parts.append(f"{first.dtype}{layout or first.ndim}")
    return "-".join(parts) or "plain"


def _short(value: Any) -> str:
    if isinstance(value, PerSample):
        return "node"
    return str(getattr(value, "name", value)).replace(" ", "")[:24]


def options(arguments: Mapping[str, Any]) -> str:
    """Arguments as they would be written in a call."""
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())
