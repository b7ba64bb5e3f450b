"""Expressions on nodes, computed by NVIDIA DALI and by us."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.math
from dali_lab.schema.cases import Case
from tests.conformance.harness import compare

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.math  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64"]
Build = Callable[..., Any]
Inputs = Sequence[tuple[Sequence[np.ndarray], str]]


def evaluate(engine: Any, build: Build, inputs: Inputs) -> list[list[dict[str, Any]]]:
    """Outputs of ``build(engine, *nodes)``, in the form that :func:`compare` takes."""
    pipeline = engine.Pipeline(len(inputs[0][0]), 2, None, seed=1)

    def feed(arrays: Sequence[np.ndarray], layout: str) -> Any:
        return engine.fn.external_source(source=lambda: list(arrays), **({"layout": layout} if layout else {}))

    with pipeline:
        outputs = build(engine, *(feed(arrays, layout) for arrays, layout in inputs))
        pipeline.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    pipeline.build()
    row = []
    for output in pipeline.run():
        samples = [np.array(output.at(index)) for index in range(len(output))]
        row.append({"dtype": output.dtype.name, "layout": output.layout(), "samples": samples})
    return [row]


def check(
    build: Build, *inputs: tuple[Sequence[np.ndarray], str], tolerance: float = 0.0, relative: float = 0.0
) -> None:
    compare(evaluate(dali_lab, build, inputs), evaluate(dali, build, inputs), Case(tolerance=tolerance), relative)


def check_fails(build: Build, *inputs: tuple[Sequence[np.ndarray], str], words: str) -> None:
    with pytest.raises(Exception):  # noqa: B017  (NVIDIA DALI's kinds differ; what matters is that it fails)
        evaluate(dali, build, inputs)
    with pytest.raises((dali_lab.DaliLabError, TypeError, ValueError), match=words):
        evaluate(dali_lab, build, inputs)
