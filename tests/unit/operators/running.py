"""Runs one operator on arrays, for tests that compare with something else than NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np

import dali_lab
from dali_lab.schema.cases import Case, PerSample
from tests.conformance.harness import run


def outputs(name: str, *inputs: Any, **arguments: Any) -> list[np.ndarray]:
    """The samples of the first output; inputs are lists of arrays or ``(list, layout)``."""
    return run(dali_lab, name, Case(inputs, arguments))[0][0]["samples"]


def per_sample(*values: Any, dtype: Any = np.int32, layout: str = "") -> PerSample:
    """A connected argument."""
    return PerSample([np.array(value, dtype) for value in values], layout)
