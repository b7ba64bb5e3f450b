"""Pictures on the GPU are written to files as those of the CPU, and passed on where they are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


def _files(gpu: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    folder.mkdir()
    monkeypatch.chdir(folder)
    pictures = [np.random.default_rng(k).integers(0, 255, (5 + k, 7, 3)).astype(np.uint8) for k in range(3)]
    pipeline = Pipeline(3, 2, 0, gpu=gpu)
    with pipeline:
        images: Any = fn.external_source(source=lambda: pictures, layout="HWC")
        images = fn.dump_image(fn.flip(images if gpu == "never" else images.gpu()), suffix="seen")
        pipeline.set_outputs(fn.flip(images))
    for _ in range(2):
        output = pipeline.run()[0].as_cpu()
        assert all((output.at(index) == picture).all() for index, picture in enumerate(pictures))
    pipeline.close()
    # Batches that are ahead may have been written, too.
    return {path.name: path.read_bytes() for path in folder.iterdir() if "-0." in path.name or "-1." in path.name}


def test_files_are_those_of_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _files("emulated", tmp_path / "gpu", monkeypatch)
    assert len(found) == 6
    assert found == _files("never", tmp_path / "cpu", monkeypatch)
