"""The example for several GPUs, as processes on the CPU that read from a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_python
from tests.servers.s3 import s3_server

pytest.importorskip("torch")
EXAMPLE = Path(__file__).parents[2] / "examples" / "torchrun_training.py"


def test_the_example_trains_in_two_processes_with_gloo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cv2

    rng = np.random.default_rng(0)
    for index in range(20):
        folder = tmp_path / f"class{index % 2}"
        folder.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / f"{index}.jpg"), rng.integers(0, 255, (70, 80, 3)).astype(np.uint8))
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLE)]
    settings = ["--epochs", "2", "--batch-size", "4"]
    with s3_server() as server, server.account(monkeypatch):
        url = server.upload(tmp_path, "training-data")
        done = run_python(*command, url, *settings, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
    # 10 files for each of the two, in batches of 4: 12 and 12 with what fills the last ones.
    assert "epoch 0: 24 samples on 2 x cpu" in done.stdout
    assert "epoch 1: 24 samples on 2 x cpu" in done.stdout
