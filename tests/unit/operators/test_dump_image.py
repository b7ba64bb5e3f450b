"""Images written to disk: the bytes and names that NVIDIA DALI writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.schema import samples

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of this test")


def dumped(engine: Any, folder: Path, arrays: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    folder.mkdir()
    monkeypatch.chdir(folder)
    pipeline = engine.Pipeline(len(arrays), 1, None, prefetch_queue_depth=1)
    with pipeline:
        images = engine.fn.external_source(source=lambda: arrays, layout="HWC")
        pipeline.set_outputs(engine.fn.dump_image(images, suffix="seen"))
    pipeline.build()
    (output,) = pipeline.run()
    for index, array in enumerate(arrays):
        np.testing.assert_array_equal(np.array(output.at(index)), array)
    return {path.name: path.read_bytes() for path in folder.iterdir() if "-0." in path.name}


@pytest.mark.parametrize("channels", [1, 3])
def test_files_are_those_of_nvidia_dali(channels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = samples.pictures(channels=channels)[0]
    ours = dumped(dali_lab, tmp_path / "ours", arrays, monkeypatch)
    assert ours == dumped(dali, tmp_path / "theirs", arrays, monkeypatch)
    assert sorted(ours) == [f"{index}-seen-0.ppm" for index in range(len(arrays))]
