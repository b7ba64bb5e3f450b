"""Crops, slices and flips in a row are one launch on a GPU, and give what they give one after the other on the CPU."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.gpu.test_color_chain import same_on_both
from tests.unit.graph.test_window_chain import DATA, chain

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


def _launches(pipeline: Any) -> list[int]:
    return [row["gpu_launches"] for row in pipeline.executor_statistics().values() if "gpu_launches" in row]


@pytest.mark.parametrize("layout", [layout for layout in DATA if layout])
@pytest.mark.parametrize("number", range(3))
def test_random_chains(number: int, layout: str) -> None:
    ours = same_on_both(chain(number), DATA[layout], layout)
    assert _launches(ours) == [1]
    ours.close()
