"""The mark for NVIDIA Triton's DALI backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab import fn, pipeline_def
from dali_lab.pipeline import Pipeline
from dali_lab.plugin.triton import autoserialize


def test_a_marked_pipeline_is_served_by_its_file(tmp_path: Path) -> None:
    @autoserialize
    @pipeline_def(batch_size=2, num_threads=1, device_id=0)
    def model() -> object:
        return fn.flip(fn.external_source(device="cpu", name="INPUT_0"))

    file = tmp_path / "model.dali"
    model().serialize(filename=str(file))
    served = Pipeline.deserialize(filename=str(file))
    assert served.max_batch_size == 2 and "INPUT_0" in str(served.serialize())
    assert model._is_autoserialize  # type: ignore[attr-defined]  # NVIDIA DALI's mark, by which the server finds it


def test_only_pipeline_functions_are_marked() -> None:
    with pytest.raises(TypeError, match="pipeline_def"):
        autoserialize(lambda: None)
