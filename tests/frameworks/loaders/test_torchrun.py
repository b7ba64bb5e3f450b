"""The example for several GPUs, as processes on the CPU that read from a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_python
from tests.servers.s3 import s3_server

EXAMPLE = Path(__file__).parents[3] / "examples" / "torchrun_training.py"


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


def test_two_machines_do_equal_work_and_shuffle_across_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their iterators agree without a word between them."""
    from dali_lab import Pipeline, fn
    from dali_lab.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    for index in range(21):
        folder = tmp_path / "data" / f"class{index % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{index:02}.jpg").write_bytes(bytes([index]) * 20)

    def epochs(url: str, rank: int) -> list[list[int]]:
        pipe = Pipeline(4, 1, None, seed=1)
        with pipe:
            encoded, labels = fn.readers.file(
                file_root=url, shard_id=rank, num_shards=2, shuffle_after_epoch=True, pad_last_batch=True, name="R"
            )
            pipe.set_outputs(fn.pad(encoded), labels)
        batches = DALIGenericIterator(
            pipe, ["content", "labels"], reader_name="R", last_batch_policy=LastBatchPolicy.FILL, auto_reset=True
        )
        return [[int(row[0]) for batch in batches for row in batch[0]["content"]] for _ in range(2)]

    with s3_server() as server, server.account(monkeypatch):
        url = server.upload(tmp_path / "data", "several-machines")
        found = [epochs(url, rank) for rank in range(2)]
    for epoch in range(2):
        assert [len(rank[epoch]) for rank in found] == [12, 12]
        assert {number for rank in found for number in rank[epoch]} == set(range(21))
    assert set(found[0][0]) != set(found[0][1]), "files go from one machine to the other between epochs"
