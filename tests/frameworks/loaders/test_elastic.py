"""Another number of processes goes on with the rest of an epoch: each sample of it exactly once, then whole epochs."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.model.errors import ArgumentError, DaliLabError, FormatError, GraphError
from dali_lab.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from tests.files import numbered_files

COUNT, SIZE = 47, 4
CHANGES = [(1, 2), (2, 3), (4, 1), (3, 2), (2, 5)]
READERS: list[dict[str, Any]] = [
    {"pad_last_batch": True},
    {"pad_last_batch": True, "random_shuffle": True, "initial_fill": 10},
    {"pad_last_batch": True, "random_shuffle": True, "stick_to_shard": True},
    {"pad_last_batch": True, "shuffle_after_epoch": True},
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return numbered_files(tmp_path_factory.mktemp("files"), COUNT)


def pipelines(files: list[str], ranks: int, checkpoint: Any = None, depth: int = 3, **reader: Any) -> list[Pipeline]:
    made = []
    for rank in range(ranks):
        pipeline = Pipeline(
            SIZE, 2, None, seed=1 + rank, prefetch_queue_depth=depth, enable_checkpointing=True, checkpoint=checkpoint
        )
        with pipeline:
            data, label = fn.readers.file(files=files, name="Reader", seed=9, num_shards=ranks, shard_id=rank, **reader)
            pipeline.set_outputs(label, fn.random.uniform(range=(0.0, 1.0)), data)
        made.append(pipeline)
    return made


def iterators(made: Sequence[Pipeline], policy: LastBatchPolicy = LastBatchPolicy.PARTIAL) -> list[Any]:
    return [
        DALIGenericIterator([each], ["label", "random", "data"], reader_name="Reader", last_batch_policy=policy,
                            auto_reset=True)
        for each in made
    ]  # fmt: skip


def labels(batches: Any, most: int | None = None) -> list[int]:
    """The labels of the rest of an epoch, or of some batches."""
    return [label for batch in itertools.islice(batches, most) for label in batch[0]["label"].flatten().tolist()]


def taken(batches: Any, count: int) -> list[Any]:
    """As many batches, over the ends of epochs; an end is an entry of its own."""
    rows: list[Any] = []
    while len(rows) < count:
        try:
            rows.append({name: value.tolist() for name, value in next(batches)[0].items()})
        except StopIteration:
            rows.append("end")
    return rows


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: "-".join(reader))
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_the_rest_of_the_epoch_comes_exactly_once(
    before: int, after: int, reader: dict[str, Any], files: list[str]
) -> None:
    for epochs, taken in ((0, 2), (1, 1)):
        old = iterators(pipelines(files, before, **reader))
        for _ in range(epochs):
            assert Counter(label for each in old for label in labels(each)) == Counter(range(COUNT))
        seen = [label for each in old for label in labels(each, taken)]
        checkpoints = [each.checkpoints()[0] for each in old]
        new = iterators(pipelines(files, after, checkpoints, **reader))
        batches = [list(each) for each in new]
        assert len(set(map(len, batches))) == 1, "the processes must stay in step"
        rest = [label for each in batches for batch in each for label in batch[0]["label"].flatten().tolist()]
        assert Counter(seen + rest) == Counter(range(COUNT))
        for _ in range(2):
            assert Counter(label for each in new for label in labels(each)) == Counter(range(COUNT))


def test_checkpoints_before_the_first_batch_have_whole_epochs_behind_them(files: list[str]) -> None:
    reader = {"pad_last_batch": True, "random_shuffle": True}
    checkpoints = [each.checkpoints()[0] for each in iterators(pipelines(files, 2, **reader))]
    new = iterators(pipelines(files, 3, checkpoints, **reader))
    for _ in range(3):
        assert Counter(label for each in new for label in labels(each)) == Counter(range(COUNT))


@pytest.mark.parametrize(
    "reader", [{}, {"random_shuffle": True, "initial_fill": 10}, {"shuffle_after_epoch": True}], ids=str
)
@pytest.mark.parametrize("policy", [LastBatchPolicy.PARTIAL, LastBatchPolicy.DROP])
def test_without_padding_the_epoch_is_that_of_the_iterators(
    policy: LastBatchPolicy, reader: dict[str, Any], files: list[str]
) -> None:
    """It begins in the middle of the reader's, from the second on, and may end in the one after it."""
    for epochs, count in ((1, 1), (3, 4)):
        old = iterators(pipelines(files, 2, **reader), policy)
        for _ in range(epochs):
            for each in old:
                labels(each)
        seen = [label for each in old for label in labels(each, count)]
        checkpoints = [each.checkpoints()[0] for each in old]
        new = iterators(pipelines(files, 3, checkpoints, **reader), policy)
        batches = [list(each) for each in new]
        assert len(set(map(len, batches))) == 1, "the processes must stay in step"
        rest = Counter(label for each in batches for batch in each for label in batch[0]["label"].flatten().tolist())
        left = Counter(set(range(COUNT)) - set(seen))
        following = Counter(label for each in new for label in labels(each))
        if policy is LastBatchPolicy.PARTIAL:
            assert rest == left and following == Counter(range(COUNT))
        else:
            assert rest <= left and (left - rest).total() < 3 * SIZE, "each process drops less than a batch"
            assert following <= Counter(range(COUNT))


def test_policies_that_cannot_go_on_for_each_other_are_refused(files: list[str]) -> None:
    checkpoints = []
    for each in iterators(pipelines(files, 2)):
        next(each)
        checkpoints.append(each.checkpoints()[0])
    with pytest.raises(ArgumentError, match="FILL without pad_last_batch"):
        iterators(pipelines(files, 3, checkpoints), LastBatchPolicy.FILL)
    with pytest.raises(ArgumentError, match="DROP goes on for DROP alone"):
        iterators(pipelines(files, 3, checkpoints), LastBatchPolicy.DROP)


def test_a_state_of_iterators_that_is_damaged_is_refused(files: list[str]) -> None:
    made = pipelines(files, 2)
    for pipeline in made:
        pipeline.run()
    right = {"reader": "Reader", "starts": {"0": [1, 0, 0], "1": [1, 0, 0]}, "taken": 4, "batch_size": 4, "drop": False}
    wrong = [{"starts": {"0": [1], "1": 3}}, {"taken": 1 << 60}, {"taken": "4"}, {"batch_size": 0}, {"starts": []}]
    for epoch in ([], *({**right, **each} for each in wrong)):
        state = json.dumps({"epoch": epoch})
        with pytest.raises(FormatError):
            pipelines(files, 3, [pipeline._get_checkpoint(state) for pipeline in made])[0].build()


@pytest.mark.parametrize("later", [1, 2, 3, 4, 6])
def test_the_new_processes_have_exact_states_and_can_change_again(later: int, files: list[str]) -> None:
    reader = {"pad_last_batch": True, "random_shuffle": True}
    old = iterators(pipelines(files, 2, **reader))
    seen = [label for each in old for label in labels(each, 2)]
    checkpoints = [each.checkpoints()[0] for each in old]
    new = iterators(pipelines(files, 3, checkpoints, **reader))
    for each in new:
        seen += labels(each, later)
    states = [each.state_dict() for each in new]
    again = [each.checkpoints()[0] for each in new]
    wanted = [taken(each, 10) for each in new]
    fresh = iterators(pipelines(files, 3, **reader))
    for each, state in zip(fresh, states, strict=True):
        each.load_state_dict(state)
    assert [taken(each, 10) for each in fresh] == wanted
    if later < 3:
        third = iterators(pipelines(files, 2, again, **reader))
        assert Counter(seen + [label for each in third for label in labels(each)]) == Counter(range(COUNT))


def test_the_result_depends_on_the_checkpoints_alone(files: list[str]) -> None:
    reader = {"pad_last_batch": True, "random_shuffle": True}
    old = pipelines(files, 2, **reader)
    for pipeline in old:
        pipeline.run()
    checkpoints = [pipeline.checkpoint() for pipeline in old]
    runs = []
    for depth in (1, 4):
        rows = []
        for pipeline in pipelines(files, 3, checkpoints, depth, **reader):
            rows += [[np.asarray(out.as_cpu().as_array()).tolist() for out in pipeline.run()] for _ in range(9)]
        runs.append(rows)
    assert runs[0] == runs[1]


def test_checkpoints_of_as_many_processes_are_each_one_s_own(files: list[str]) -> None:
    old = pipelines(files, 2, pad_last_batch=True)
    for pipeline in old:
        pipeline.run()
    checkpoints = [pipeline.checkpoint() for pipeline in old]
    wanted = [[np.asarray(out.as_array()).tolist() for out in pipeline.run()] for pipeline in old]
    new = pipelines(files, 2, checkpoints, pad_last_batch=True)
    assert [[np.asarray(out.as_array()).tolist() for out in pipeline.run()] for pipeline in new] == wanted


def test_wrong_lists_are_refused(files: list[str], tmp_path: Path) -> None:
    old = pipelines(files, 2, pad_last_batch=True)
    for pipeline in old:
        pipeline.run()
    one, two = (pipeline.checkpoint() for pipeline in old)
    with pytest.raises(FormatError, match="not the checkpoints of all shards"):
        pipelines(files, 3, [one, one], pad_last_batch=True)[0].build()
    with pytest.raises(FormatError, match="does not fit 'Reader'"):
        pipelines(files, 3, [two], pad_last_batch=True)[0].build()
    with pytest.raises(FormatError):
        pipelines(files[:-1], 3, [one, two], pad_last_batch=True)[0].build()
    with pytest.raises(ArgumentError, match="empty list"):
        Pipeline(1, 1, None, checkpoint=[])
    with Pipeline(2, 1, None, checkpoint=[one, two]) as pipeline:
        pipeline.set_outputs(fn.random.uniform())
    with pytest.raises(GraphError, match="no reader that has shards"):
        pipeline.build()
    assert issubclass(FormatError, DaliLabError)
