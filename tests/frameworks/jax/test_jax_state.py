"""Iterators of JAX with the package's plain dependencies: they go on exactly where their state was taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.plugin.jax import DALIGenericIterator, LastBatchPolicy

COUNT = 14


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{index:02}.bin" for index in range(COUNT)]
    for index, path in enumerate(paths):
        path.write_bytes(bytes([index] * 3))
    return list(map(str, paths))


def iterator(files: list[str], policy: LastBatchPolicy) -> DALIGenericIterator:
    pipeline = Pipeline(4, 2, None, seed=5, enable_checkpointing=True)
    with pipeline:
        data, label = fn.readers.file(files=files, name="Reader", random_shuffle=True)
        pipeline.set_outputs(fn.copy(data), label, fn.random.uniform(range=[0.0, 1.0]))
    return DALIGenericIterator(
        [pipeline], ["data", "label", "random"], reader_name="Reader", last_batch_policy=policy, auto_reset=True
    )


def taken(batches: Any, count: int) -> list[Any]:
    rows: list[Any] = []
    while len(rows) < count:
        try:
            batch = next(batches)
            assert all(isinstance(array, jax.Array) for array in batch.values())
            rows.append({name: np.asarray(array).tolist() for name, array in batch.items()})
        except StopIteration:
            rows.append("end")
    return rows


@pytest.mark.parametrize("policy", [LastBatchPolicy.FILL, LastBatchPolicy.DROP], ids=lambda policy: policy.name)
@pytest.mark.parametrize("after", [0, 1, 3, 4, 6])
def test_a_loaded_state_goes_on_exactly(policy: LastBatchPolicy, after: int, files: list[str]) -> None:
    whole = iterator(files, policy)
    taken(whole, after)
    state = json.loads(json.dumps(whole.state_dict()))
    wanted = taken(whole, 7)
    fresh = iterator(files, policy)
    fresh.load_state_dict(state)
    assert taken(fresh, 7) == wanted
