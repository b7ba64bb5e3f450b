"""The benchmark for GPUs, run on the emulated device: its table, launches, segments and memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.device.emulated import EmulatedDevice
from dali_lab.executor import placement
from tests.benchmarks import gpu
from tests.benchmarks.gpu import Measured, line, main

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(3)
    for index in range(4):
        (tmp_path / str(index % 2)).mkdir(exist_ok=True)
        picture = cv2.resize(rng.integers(0, 255, (6, 8, 3)).astype(np.uint8), (300, 280))
        cv2.imwrite(str(tmp_path / str(index % 2) / f"{index}.jpg"), picture)
    monkeypatch.setattr(gpu, "folder", lambda kind: tmp_path)
    device = EmulatedDevice()  # nothing else has memory on it
    for module in (gpu, placement):
        monkeypatch.setattr(module, "find_device", lambda mode, index=0: device)
    return tmp_path


def test_launches_stand_beside_segments(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--emulated", "--seconds", "0", "--rounds", "1", "--threads", "1", "--batch-size", "2"]
    assert main(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "emulated device" in lines[0]
    head = [cell.strip() for cell in lines[2].strip("|").split("|")]
    rows = {}
    for text in lines[4:]:
        cells = dict(zip(head, (cell.strip() for cell in text.strip("|").split("|")), strict=False))
        rows[cells["pipeline"]] = (int(cells["launches per batch"]), int(cells["segments"]))
        assert int(cells["GPU memory, MiB"]) > 0
    assert set(rows) == set(gpu.NAMES)
    assert rows["training"] == rows["validation"] == (1, 1), "resize, crop, mirror and normalise are one kernel"
    assert rows["augment"][0] == rows["augment"][1]
    assert rows["simclr"][0] == rows["simclr"][1]


def test_a_row_has_both_engines() -> None:
    rounds = [[Measured(200.0, 64 << 20, 3, 2), Measured(100.0, 80 << 20)], [Measured(300.0, 32 << 20, 3, 2)] * 2]
    assert line("training", rounds) == "| training | 250 | 200 | 1.50 | 64 | 80 | 3 | 2 |"
    assert line("augment", [[Measured(10.0, 1 << 20, 4, 4)]]) == "| augment | 10 |  |  | 1 |  | 4 | 4 |"


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main([]) == 0
    assert "Nothing measured" in capsys.readouterr().out
