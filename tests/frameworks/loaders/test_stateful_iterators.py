"""``state_dict`` and ``load_state_dict``: the batches after a state are those of a run that was not interrupted."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.model.errors import FormatError
from dali_lab.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from tests.files import numbered_files

COUNT = 23


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    numbered_files(root, COUNT)
    return root


def number_of(info: Any) -> np.ndarray:
    return np.array([info.idx_in_epoch])


def iterator(
    folder: Path,
    policy: LastBatchPolicy = LastBatchPolicy.PARTIAL,
    *,
    shards: int = 1,
    workers: bool = False,
    on_error: Any = "raise",
    checkpointing: bool = True,
    **how: Any,
) -> DALIGenericIterator:
    pipelines = []
    for shard in range(shards):
        pipeline = Pipeline(4, 2, None, seed=5, enable_checkpointing=checkpointing, on_error=on_error, py_num_workers=2)
        with pipeline:
            files = [str(path) for path in sorted(folder.iterdir())]
            data, label = fn.readers.file(
                files=files, name="Reader", random_shuffle=True, num_shards=shards, shard_id=shard
            )
            outputs = [fn.pad(fn.copy(data)), label, fn.random.uniform(range=[0.0, 1.0])]
            if workers:
                outputs.append(fn.external_source(source=number_of, batch=False, parallel=True))
            pipeline.set_outputs(*outputs)
        pipelines.append(pipeline)
    names = ["data", "label", "random", "number"][: 3 + workers]
    return DALIGenericIterator(pipelines, names, reader_name="Reader", last_batch_policy=policy, auto_reset=True, **how)


def taken(batches: Any, count: int) -> list[Any]:
    """As many batches, over the ends of epochs; an end is an entry of its own."""
    rows: list[Any] = []
    while len(rows) < count:
        try:
            rows.append([{name: value.tolist() for name, value in batch.items()} for batch in next(batches)])
        except StopIteration:
            rows.append("end")
    return rows


@pytest.mark.parametrize(
    ("policy", "shards", "workers"),
    [
        (LastBatchPolicy.PARTIAL, 1, False),
        (LastBatchPolicy.FILL, 2, False),
        (LastBatchPolicy.DROP, 1, False),
        (LastBatchPolicy.PARTIAL, 1, True),
    ],
)
def test_a_loaded_state_goes_on_exactly(policy: LastBatchPolicy, shards: int, workers: bool, folder: Path) -> None:
    whole = iterator(folder, policy, shards=shards, workers=workers)
    states, rows = [], []
    for _ in range(10):
        states.append(json.loads(json.dumps(whole.state_dict())))
        rows += taken(whole, 1)
    rows += taken(whole, 8)
    for after in (0, 1, 5, 6, 7, 9):
        fresh = iterator(folder, policy, shards=shards, workers=workers)
        fresh.load_state_dict(states[after])
        wanted = rows[after : after + 8]
        assert fresh.end_is_due == (wanted[0] == "end")
        assert taken(fresh, 8) == wanted
        fresh.load_state_dict(states[after])  # and back again, from a later place
        assert taken(fresh, 8) == wanted


def test_a_loop_over_a_loaded_iterator_takes_the_rest_of_the_epoch(folder: Path) -> None:
    whole = iterator(folder)
    next(whole), next(whole)
    state = whole.state_dict()
    rest = [batch[0]["label"].tolist() for batch in whole]
    fresh = iterator(folder)
    fresh.load_state_dict(state)
    assert [batch[0]["label"].tolist() for batch in fresh] == rest


@pytest.mark.parametrize("prepare", [True, False])
def test_a_state_before_the_first_batch_is_that_of_the_beginning(prepare: bool, folder: Path) -> None:
    whole = iterator(folder, prepare_first_batch=prepare)
    state = whole.state_dict()
    wanted = taken(whole, 3)
    whole.load_state_dict(state)
    assert taken(whole, 3) == wanted


def test_other_states_are_refused(folder: Path) -> None:
    one = iterator(folder)
    for state in ({}, {"checkpoints": 3}, {"checkpoints": ["é"]}):
        with pytest.raises(FormatError, match="not a state of an iterator"):
            one.load_state_dict(state)
    with pytest.raises(FormatError, match="state of 2 pipelines"):
        one.load_state_dict(iterator(folder, shards=2).state_dict())
    without = iterator(folder, checkpointing=False)
    with pytest.raises(ValueError, match="enable_checkpointing"):
        without.state_dict()
    with pytest.raises(ValueError, match="enable_checkpointing"):
        without.load_state_dict(one.state_dict())


def test_an_iterator_goes_on_where_a_state_of_another_one_was_refused(folder: Path) -> None:
    one, same = iterator(folder), iterator(folder)
    expected = [next(same)[0]["label"].tolist() for _ in range(4)]
    found = [next(one)[0]["label"].tolist() for _ in range(2)]
    pipeline = Pipeline(2, 1, None, enable_checkpointing=True)
    with pipeline:
        pipeline.set_outputs(fn.external_source(lambda index: np.zeros((2, 1))))
    other = base64.b64encode(pipeline.checkpoint()).decode()
    for state in (other, base64.b64encode(b"damaged").decode()):
        with pytest.raises(FormatError):
            one.load_state_dict({"checkpoints": [state]})
    found += [next(one)[0]["label"].tolist() for _ in range(2)]
    assert found == expected


# Bad samples in iterators


def labels(batches: DALIGenericIterator) -> list[list[int]]:
    return [batch[0]["label"][:, 0].tolist() for batch in batches]


@pytest.mark.parametrize(
    "part", [{"_shards_id": [9]}, {"_counter": [4]}, {"_size": 1e300}, {"_initial_sizes": 0}], ids=str
)
def test_an_iterator_goes_on_where_a_damaged_state_was_refused(part: dict[str, Any], folder: Path) -> None:
    first, same = iterator(folder, shards=2), iterator(folder, shards=2)
    found, expected = taken(first, 1), taken(same, 5)
    damaged = json.dumps({**json.loads(first._state()), **part})
    states = [pipeline._get_checkpoint(damaged) for pipeline in first._pipes]
    with pytest.raises(FormatError, match="no state of an iterator like this one"):
        first.load_state_dict({"checkpoints": [base64.b64encode(state).decode() for state in states]})
    assert found + taken(first, 4) == expected


def test_a_damaged_state_of_one_of_two_pipelines_changes_neither(folder: Path) -> None:
    first, same = iterator(folder, shards=2), iterator(folder, shards=2)
    expected = taken(same, 5)
    state = first.state_dict()["checkpoints"][0]
    found = taken(first, 2)
    with pytest.raises(FormatError):
        first.load_state_dict({"checkpoints": [state, base64.b64encode(b"damaged").decode()]})
    assert found + taken(first, 3) == expected


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
@pytest.mark.parametrize("which", [5, 20, 21])
def test_left_out_samples_are_counted(policy: LastBatchPolicy, which: int, folder: Path, tmp_path: Path) -> None:
    plain = iterator(folder, policy)
    wanted = labels(plain)
    bad = [label for batch in wanted for label in batch][min(which, sum(map(len, wanted)) - 1)]
    copies = tmp_path / "files"
    copies.mkdir()
    for path in folder.iterdir():
        (copies / path.name).write_bytes(path.read_bytes())
    skipping = iterator(copies, policy, on_error="skip", prepare_first_batch=False)
    (copies / f"{bad:02}.bin").unlink()
    found = labels(skipping)
    assert found == [[label for label in batch if label != bad] for batch in wanted]
    assert [Path(record.file or "").stem for record in skipping.bad_samples] == [f"{bad:02}"]
