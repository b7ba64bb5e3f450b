"""The benchmark's checks before it times anything: outputs agree, and cases grow as they should."""

from __future__ import annotations

import numpy as np

from dali_lab.schema.registry import find_operator
from tests.benchmarks import operators
from tests.benchmarks.engines import disagreement
from tests.benchmarks.throughput import geometric_mean, table


def test_outputs_that_differ_are_told() -> None:
    batch = [[[np.zeros((10, 10), np.float32), np.ones((5, 5), np.float32)]]]
    assert disagreement(batch, batch, 0.0) == ""
    other = [[[batch[0][0][0] + np.float32(0.5), batch[0][0][1]]]]
    assert disagreement(batch, other, 0.6) == ""
    assert disagreement(batch, other, 0.4) == "100 of 125 elements differ by more than 0.4, at most by 0.5"
    wrong = [[[np.zeros((10, 9), np.float32), batch[0][0][1]]]]
    assert disagreement(batch, wrong, 1.0) == "output 0, sample 0: float32[10, 10] beside float32[10, 9]"


def test_single_elements_may_differ() -> None:
    """One in 100,000: a half-way value that another order of sums moves."""
    left = np.zeros(300_000, np.uint8)
    right = left.copy()
    right[:3] = 9
    assert disagreement([[[left]]], [[[right]]], 1.0) == ""
    right[:4] = 9
    assert disagreement([[[left]]], [[[right]]], 1.0).startswith("4 of 300000")


def test_nothing_is_like_nothing() -> None:
    nan = np.full(4, np.nan, np.float32)
    assert disagreement([[[nan]]], [[[nan.copy()]]], 0.0) == ""
    assert disagreement([[[nan]]], [[[np.zeros(4, np.float32)]]], 1.0) != ""


def test_cases_grow_to_the_size_of_real_data() -> None:
    case = operators.representative(find_operator("flip"))
    arrays, layout = case.inputs[0]
    assert layout == "HWC"
    assert len(arrays) == operators.BATCH
    assert all(array.shape == (240, 320, 3) for array in arrays)
    sound = operators.representative(find_operator("preemphasis_filter"))
    assert all(array.shape == (48_000,) for array in sound.inputs[0][0])


def test_table_has_a_row_for_each_pipeline() -> None:
    row = {"ours": 200.0, "dali": 100.0, "ratio": 2.0, "cpu": 5.0, "cpu_dali": 9.0, "memory": 1.0, "memory_dali": 2.0}
    text = table({"training": {**row, "torchvision": 4.0}, "speech": {**row, "ratio": 0.5}})
    lines = text.splitlines()
    assert lines[2] == "| training | 200 | 100 | 2.00 | 4.00 |  | 5 | 9 | 1 | 2 |"
    assert "| geometric mean of 2 | | | 1.00 |" in lines[-1]
    assert geometric_mean([4.0, 1.0]) == 2.0
