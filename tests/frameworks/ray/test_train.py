"""A job of Ray Train with two workers: equal steps, every sample once, and a state that goes on elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from dali_lab import Pipeline
from dali_lab.plugin.ray import DataConfig, dataset, iterator
from tests.frameworks.ray.conftest import EPOCH, start_ray

pytestmark = pytest.mark.usefixtures("train_ray")


@pytest.fixture(scope="module")
def train_ray() -> object:
    """Ray with two CPUs for the workers of the job, and two for its data."""
    import ray

    start_ray(num_cpus=4, object_store_memory=300_000_000)
    yield
    ray.shutdown()


def work(config: dict[str, str]) -> None:
    """A worker: one whole epoch, and the first batch of the next."""
    import torch.distributed

    batches = iterator(ray.train.get_dataset_shard("train"))
    rank = ray.train.get_context().get_world_rank()
    seen = [[labels.item() for labels in batch["labels"]] for batch in batches]
    following = next(iter(batches))
    states: list[object] = [None, None]
    torch.distributed.all_gather_object(states, batches.state_dict())
    found = {"seen": seen, "following": following["labels"].ravel().tolist(), "states": states}
    Path(config["folder"], f"{rank}.json").write_text(json.dumps(found))
    ray.train.report({"steps": len(seen)})


def test_two_workers_train_on_every_batch_once(
    make: Callable[..., Pipeline], expected: list[dict[str, list[np.ndarray]]], tmp_path: Path
) -> None:
    trainer = TorchTrainer(
        work,
        train_loop_config={"folder": str(tmp_path)},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="training", storage_path=str(tmp_path / "results")),
        datasets={"train": dataset(make(), batches_per_block=1, preserve_order=True)},
        dataset_config=DataConfig(),
    )
    result = trainer.fit()
    assert result.error is None
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert [len(rank["seen"]) for rank in ranks] == [4, 4]
    labels = [np.ravel(batch["labels"]).tolist() for batch in expected]
    wanted = Counter(label for batch in labels[: EPOCH - 1] for label in batch) + Counter(labels[EPOCH - 1][:2])
    assert Counter(label for rank in ranks for batch in rank["seen"] for label in batch) == wanted
    assert sorted(rank["following"] for rank in ranks) == sorted(labels[EPOCH : EPOCH + 2])

    alone = iterator(dataset(make(), resume=ranks[0]["states"], batches_per_block=1, preserve_order=True))
    rest = [batch["labels"].ravel().tolist() for batch in alone]
    assert rest == [*labels[EPOCH + 2 : 2 * EPOCH - 1], labels[2 * EPOCH - 1][:2]]
