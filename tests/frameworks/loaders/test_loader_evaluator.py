"""Times of a loader, and batches from memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dali_lab.plugin.pytorch.loader_evaluator import LoaderEvaluator

KEYS = {
    "mode", "total_batches", "total_time", "avg_batch_time", "min_batch_time", "max_batch_time", "batch_times",
    "cached_batches", "cache_ready",
}  # fmt: skip


def test_batches_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluator = LoaderEvaluator(list(range(5)), metrics_file=str(tmp_path / "metrics.json"))
    assert evaluator.get_metrics() == {} and len(evaluator) == 5
    for _ in range(2):
        assert list(evaluator) == [0, 1, 2, 3, 4]
    metrics = evaluator.get_metrics()
    assert set(metrics) == KEYS
    assert metrics["total_batches"] == len(metrics["batch_times"]) == 5 and not metrics["cache_ready"]
    assert metrics["min_batch_time"] <= metrics["avg_batch_time"] <= metrics["max_batch_time"]
    evaluator.save_metrics()
    assert json.loads((tmp_path / "metrics.json").read_text()) == metrics
    evaluator.print_summary()
    assert "Number of batches: 5" in capsys.readouterr().out


def test_replayed_batches_fill_an_epoch() -> None:
    loader = list(range(5))
    evaluator = LoaderEvaluator(loader, mode="replay", num_cached_batches=2)
    loader[:] = [9] * 5
    assert list(evaluator) == [3, 4, 3, 4, 3]
    assert evaluator.get_metrics()["cached_batches"] == 2
    with pytest.raises(RuntimeError, match=r"No cached batches available\. This should not happen in replay"):
        iter(LoaderEvaluator([], mode="replay"))
