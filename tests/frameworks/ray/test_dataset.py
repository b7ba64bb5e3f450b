"""Datasets of a pipeline: the same numbers as ``Pipeline.run``, whoever computes them, and states to resume from."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch

from dali_lab import Pipeline, fn
from dali_lab.executor import positions
from dali_lab.executor.sources import opening as sources
from dali_lab.interop.ray import executions
from dali_lab.interop.ray.engines import Engine
from dali_lab.interop.ray.recipe import column_names, recipe_of
from dali_lab.model.errors import ArgumentError, FormatError, SampleError
from dali_lab.plugin.pytorch import DALIGenericIterator
from dali_lab.plugin.ray import DataConfig, LastBatchPolicy, RayError, dataset, iterator
from tests.frameworks.ray.conftest import BATCH, EPOCH, FILES, batches_of, check_batch
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("local_ray")

Make = Callable[..., Pipeline]
Expected = list[dict[str, list[np.ndarray]]]


def numbers(expected: Expected, batches: object) -> list[int]:
    """The number of each batch in the run, found by its content."""
    found = []
    for batch in batches:  # type: ignore[attr-defined]
        labels = np.ravel(batch["labels"]).tolist()
        first = [k for k, other in enumerate(expected) if np.ravel(other["labels"]).tolist()[: len(labels)] == labels]
        check_batch(batch, {name: values[: len(labels)] for name, values in expected[first[0]].items()})
        found.append(first[0])
    return found


def test_epochs_in_order_are_those_of_run(make: Make, expected: Expected) -> None:
    made = dataset(make(), batches_per_block=2, preserve_order=True)
    assert made.count() == FILES
    for epoch in range(2):
        batches = list(made.iter_batches(batch_size=BATCH))
        assert len(batches) == EPOCH
        for batch, other in zip(batches, expected[epoch * EPOCH :], strict=False):
            check_batch(batch, other, FILES % BATCH if batch is batches[-1] else None)


def test_processes_have_the_pipeline_before_the_first_epoch(tmp_path: Path) -> None:
    class Source:
        """Batches of one number; leaves a file for each process that it came to."""

        def __call__(self, batch: int) -> np.ndarray:
            return np.full((BATCH, 1), batch)

        def __getstate__(self) -> str:
            return "of the other process"

        def __setstate__(self, state: str) -> None:
            (tmp_path / str(os.getpid())).touch()

    pipeline = Pipeline(batch_size=BATCH, num_threads=1)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=Source()))
    # Ray tells a while later that the tasks before have ended, and busy processors are left alone.
    wait_until(lambda: ray.available_resources().get("CPU", 0) >= 1, "no processor is free")
    dataset(pipeline, batches=1)
    assert {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}


def test_any_order_has_the_same_batches(make: Make, expected: Expected) -> None:
    given = iterator(dataset(make(), batches_per_block=1))
    for epoch in range(2):
        assert len(given) == EPOCH
        assert sorted(numbers(expected, given)) == list(range(epoch * EPOCH, (epoch + 1) * EPOCH))


def test_batches_that_come_in_several_blocks_are_whole(
    make: Make, expected: Expected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long tasks give blocks on the way, which Ray cuts to the bytes asked for: here in the middle of batches."""
    monkeypatch.setattr(ray.data.DataContext.get_current(), "target_max_block_size", 15_000)
    made = dataset(make(), preserve_order=True)
    assert len(list(made.iter_internal_ref_bundles())) > EPOCH
    given = iterator(made)
    assert numbers(expected, given) == list(range(EPOCH))
    assert numbers(expected, given) == list(range(EPOCH, 2 * EPOCH))


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("padded", [False, True])
def test_policies_are_those_of_local_iterators(pictures: list[str], policy: LastBatchPolicy, padded: bool) -> None:
    def labels() -> Pipeline:
        pipeline = Pipeline(batch_size=BATCH, num_threads=1, seed=1, prefetch_queue_depth=1)
        with pipeline:
            pipeline.set_outputs(
                fn.readers.file(files=pictures[:19], random_shuffle=True, name="R", pad_last_batch=padded)[1]
            )
        return pipeline

    local = DALIGenericIterator(labels(), ["labels"], reader_name="R", last_batch_policy=policy, auto_reset=True)
    made = iterator(dataset(labels(), columns=["labels"], last_batch_policy=policy, preserve_order=True))
    for _ in range(3):
        wanted = [batch[0]["labels"].ravel().tolist() for batch in local]
        assert [batch["labels"].ravel().tolist() for batch in made] == wanted


def test_a_state_is_resumed_in_mid_epoch_also_locally(make: Make, expected: Expected) -> None:
    from dali_lab.plugin.ray import checkpoint

    given = iterator(dataset(make(), batches_per_block=2, preserve_order=True))
    for _ in zip(range(3), given, strict=False):
        pass
    state = json.loads(json.dumps(given.state_dict()))
    resumed = iterator(dataset(make(seed=99), resume=state, batches_per_block=1))
    assert len(resumed) == EPOCH - 3
    assert sorted(numbers(expected, resumed)) == [3, 4, 5, 6]
    assert sorted(numbers(expected, resumed)) == list(range(EPOCH, 2 * EPOCH))
    local = make(checkpoint=checkpoint(make(), state))
    for batch, other in zip(batches_of(local, 4), expected[3:], strict=False):
        check_batch(batch, other)


def test_ranks_get_all_batches_once_and_resume_with_other_ranks(make: Make, expected: Expected) -> None:
    made = dataset(make(), batches_per_block=1)
    shards = [iterator(shard["train"]) for shard in DataConfig().configure({"train": made}, 3)]
    assert {len(shard) for shard in shards} == {3}
    loops = [iter(shard) for shard in shards]
    seen = [numbers(expected, [next(loop)])[0] for loop in loops]
    states = [shard.state_dict() for shard in shards]
    for loop in loops:
        loop.close()
    again = DataConfig().configure({"train": dataset(make(), resume=states, batches_per_block=1)}, 2)
    for shard in again:
        batches = list(iterator(shard["train"]))
        assert len(batches) == 2
        seen += numbers(expected, batches)
    assert Counter(seen) == Counter(range(EPOCH))


def test_partial_ranks_end_with_empty_batches(make: Make) -> None:
    made = dataset(make(), batches_per_block=1)
    sizes = [
        [len(batch["labels"]) for batch in iterator(shard["train"])]
        for shard in DataConfig().configure({"train": made}, 2)
    ]
    assert sorted(map(len, sizes)) == [4, 4]
    assert sorted(map(sum, sizes)) == [24, 26]


def test_tensors_lie_in_the_object_store(make: Make) -> None:
    batch = next(iter(iterator(dataset(make()))))
    assert isinstance(batch["flipped"], torch.Tensor)
    assert batch["flipped"].dtype == torch.uint8
    assert isinstance(batch["small"], list)
    assert not batch["flipped"].numpy().flags.owndata


def test_bad_samples_are_replaced_as_locally(pictures: list[str], tmp_path: object) -> None:
    import pathlib

    bad = pathlib.Path(str(tmp_path), "bad.jpg")
    bad.write_bytes(b"no picture")
    files = [*pictures[:10], str(bad), *pictures[10:20]]

    def pipeline() -> Pipeline:
        made = Pipeline(batch_size=4, num_threads=1, seed=2, on_error="replace", max_error_rate=1.0)
        with made:
            encoded, labels = fn.readers.file(files=files, name="R", pad_last_batch=True)
            made.set_outputs(fn.resize(fn.decoders.image(encoded), size=(8, 8)), labels)
        return made

    local = pipeline()
    wanted = [[output.as_array() for output in local.run()] for _ in range(6)]
    for batch, (pictures_, labels) in zip(
        iterator(dataset(pipeline(), columns=["pictures", "labels"], preserve_order=True)), wanted, strict=True
    ):
        count = len(batch["labels"])
        np.testing.assert_array_equal(batch["labels"], labels[:count])
        np.testing.assert_array_equal(batch["pictures"], pictures_[:count])


def test_sources_that_count_are_asked_for_any_batch() -> None:
    def pipeline() -> Pipeline:
        made = Pipeline(batch_size=3, num_threads=1, seed=4)
        with made:
            values = fn.external_source(lambda number: np.full((3, 2), number, np.float32), name="values")
            made.set_outputs(values + fn.random.uniform(range=(0, 0.5)))
        return made

    local = pipeline()
    wanted = [local.run()[0].as_array() for _ in range(8)]
    with pytest.raises(ArgumentError, match="argument 'batches': must be given"):
        dataset(pipeline())
    made = iterator(dataset(pipeline(), columns=["values"], batches=8, batches_per_block=3, preserve_order=True))
    np.testing.assert_array_equal(np.concatenate([batch["values"] for batch in made]), np.concatenate(wanted))


def test_what_cannot_be_distributed_is_refused() -> None:
    pipeline = Pipeline(batch_size=3, num_threads=1)
    with pipeline:
        pipeline.set_outputs(fn.external_source(name="fed"))
    with pytest.raises(RayError, match=r"node 'fed'.*stage\(\)"):
        dataset(pipeline, batches=4)
    iterable = Pipeline(batch_size=3, num_threads=1)
    with iterable:
        iterable.set_outputs(fn.external_source([np.zeros((3, 1))] * 4, name="iterable"))
    with pytest.raises(ArgumentError, match="can be asked for any batch"):
        dataset(iterable, batches=4)
    with pytest.raises(FormatError, match="not a state of a distributed run"):
        dataset(pipeline_of_numbers(), batches=4, resume={"format": "other"})
    with pytest.raises(ArgumentError, match="columns"):
        dataset(pipeline_of_numbers(), batches=4, columns=["one", "two"])


def pipeline_of_numbers() -> Pipeline:
    pipeline = Pipeline(batch_size=3, num_threads=1, seed=1)
    with pipeline:
        pipeline.set_outputs(fn.random.uniform())
    return pipeline


def test_a_file_that_vanishes_names_node_and_file(pictures: list[str], tmp_path: Path) -> None:
    files = [str(shutil.copy(path, tmp_path)) for path in pictures[:12]]
    pipeline = Pipeline(batch_size=4, num_threads=1, seed=1)
    with pipeline:
        encoded, labels = fn.readers.file(files=files, name="Reader", pad_last_batch=True)
        pipeline.set_outputs(fn.resize(fn.decoders.image(encoded), size=(8, 8)), labels)
    made = iterator(dataset(pipeline, columns=["pictures", "labels"], batches_per_block=1, preserve_order=True))
    Path(files[9]).unlink()
    with pytest.raises(SampleError) as caught:
        list(made)
    for said in ("Reader", Path(files[9]).name, "it does not exist"):
        assert said in str(caught.value)


def test_columns_are_named_by_nodes_and_by_the_outputs_that_are_there() -> None:
    pipeline = Pipeline(batch_size=2, num_threads=1)
    with pipeline:
        encoded, labels = fn.readers.file(files=["a.jpg"], name="Reader")
        small = fn.resize(encoded, size=(8, 8), name="small")
        marked = fn.resize(encoded, size=(8, 8), save_attrs=True, name="marked")
        pipeline.set_outputs(small, *marked, labels)
    assert column_names(pipeline.graph) == ("small", "data", "sizes", "labels")


def test_tasks_of_an_execution_begin_at_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one runs alone for a second, and each ends 0.1 s late."""
    from ray.data._internal.execution.execution_callback import ExecutionCallback

    found: list[tuple[float, str]] = []

    class Note(ExecutionCallback):  # type: ignore[misc]
        def before_execution_starts(self, executor: Any) -> None:
            cpus = executor._resource_manager.get_global_limits().cpu
            found.append((cpus, type(executor._metadata_fetcher).__name__))

    monkeypatch.setattr(executions, "_PATIENCE", 600)
    monkeypatch.delenv(executions._ON_THREAD, raising=False)
    made = dataset(make())
    made.context.custom_execution_callback_classes = [*made.context.custom_execution_callback_classes, Note]
    for _ in iterator(made):
        pass
    assert found == [(2, "InlineMetadataFetcher")]


def test_data_are_opened_once_for_all_epochs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a store may list a million objects."""
    opened: list[object] = []

    def open_sources(*arguments: Any, **options: Any) -> Any:
        opened.append(arguments)
        return sources.open_sources(*arguments, **options)

    monkeypatch.setattr(positions, "open_sources", open_sources)
    made = dataset(make(), batches_per_block=2)
    count = len(opened)
    given = iterator(made)
    for _ in range(3):
        assert len(list(given)) == EPOCH
    assert len(opened) == count


def test_data_that_changed_before_a_process_opens_them(pictures: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "of one class"
    folder.mkdir()
    for path in pictures[:4]:
        shutil.copy(path, folder)
    pipeline = Pipeline(batch_size=2, num_threads=1, seed=1)
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(file_root=str(tmp_path), name="Reader"))
    recipe = recipe_of(pipeline)
    checkpoint = recipe.positions().before(1).dumps()
    (folder / Path(pictures[0]).name).unlink()
    engine = Engine(recipe, 1)
    with pytest.raises(FormatError, match=r"data have changed since dataset\(\).*that of 4 samples, and there are 3"):
        next(engine.batches((1, checkpoint, [2])))
    engine.pipeline.close()
