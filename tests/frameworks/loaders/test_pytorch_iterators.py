"""The PyTorch iterators give what NVIDIA DALI's give, over several epochs."""

from __future__ import annotations

import gc
import importlib
import inspect
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.files import numbered_files
from tests.together import with_each

torch = pytest.importorskip("torch")

import dali_lab  # noqa: E402
from dali_lab.plugin.pytorch import (  # noqa: E402
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
    feed_ndarray,
)

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn
    import nvidia.dali.types  # noqa: F401
except ImportError:
    oracle = None

needs_dali = pytest.mark.skipif(oracle is None, reason="NVIDIA DALI is the oracle of these tests")


@needs_dali
@pytest.mark.parametrize("kind", [DALIGenericIterator, DALIClassificationIterator, DALIRaggedIterator])
def test_parameters_are_those_of_dali(kind: type) -> None:
    theirs = getattr(importlib.import_module("nvidia.dali.plugin.pytorch"), kind.__name__)
    assert parameters(kind) == parameters(theirs)


def parameters(kind: type) -> list[tuple[str, Any, str]]:
    return [(one.name, one.kind, str(one.default)) for one in inspect.signature(kind).parameters.values()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    numbered_files(root, 13, classes=3, ending=".jpg")
    return root


def reading(engine: Any, folder: Path, batch_size: int = 2, **options: Any) -> Any:
    settings = options.pop("settings", {})
    pipeline = engine.Pipeline(batch_size, 2, None, seed=7, **settings)
    with pipeline:
        data, label = engine.fn.readers.file(file_root=str(folder), name="Reader", **options)
        pipeline.set_outputs(data, label)
    return pipeline


def numbers(engine: Any, stop: int, batch_size: int = 2, **options: Any) -> Any:
    """Samples 1 … stop in batches; `cycle` says what comes then."""
    batches = [np.arange(i, min(i + batch_size, stop + 1))[:, None] for i in range(1, stop + 1, batch_size)]
    pipeline = engine.Pipeline(batch_size, 2, None, **options.pop("settings", {}))
    with pipeline:
        pipeline.set_outputs(engine.fn.external_source(source=batches, **{"cycle": "raise", **options}))
    return pipeline


def plugin(engine: Any) -> Any:
    return importlib.import_module(f"{engine.__name__}.plugin.pytorch")


def epochs(iterator: Any, count: int, reset: bool) -> list[Any]:
    rows: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            epoch = []
            for batches in itertools.islice(iterator, 40):
                epoch.append([{name: value.flatten().tolist() for name, value in batch.items()} for batch in batches])
            rows.append(epoch)
            if reset:
                iterator.reset()
    return rows


def run(engine: Any, pipelines: list[Any], count: int = 4, **options: Any) -> list[Any]:
    module = plugin(engine)
    policy = getattr(module.LastBatchPolicy, options.pop("policy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        iterator = module.DALIGenericIterator(
            pipelines, [f"out{i}" for i in range(pipelines[0].num_outputs)], last_batch_policy=policy, **options
        )
    sizes = [len(iterator), iterator.size]
    return [sizes, *epochs(iterator, count, not options.get("auto_reset"))]


@needs_dali
@with_each("policy", ["FILL", "DROP", "PARTIAL"])
@with_each("pad", [False, True])
@with_each("auto_reset", [False, True])
@with_each("shards", [1, 3])
@with_each("stick", [False, True])
@with_each("batch_size", [2, 4])
def test_readers(
    folder: Path, policy: str, pad: bool, auto_reset: bool, shards: int, stick: bool, batch_size: int
) -> None:
    def rows(engine: Any) -> Any:
        pipelines = [
            reading(
                engine, folder, batch_size, shard_id=shard, num_shards=shards, pad_last_batch=pad, stick_to_shard=stick
            )
            for shard in range(shards)
        ]
        return run(engine, pipelines, reader_name="Reader", policy=policy, auto_reset=auto_reset)

    assert rows(dali_lab) == rows(oracle)


@needs_dali
@pytest.mark.parametrize("prepare", [False, True])
def test_shuffled_shards(folder: Path, prepare: bool) -> None:
    def rows(engine: Any) -> Any:
        pipeline = reading(engine, folder, 3, random_shuffle=True, shard_id=1, num_shards=2, initial_fill=4)
        return run(engine, [pipeline], reader_name="Reader", policy="PARTIAL", prepare_first_batch=prepare)

    assert rows(dali_lab) == rows(oracle)


@needs_dali
@with_each("policy", ["FILL", "DROP", "PARTIAL"])
@with_each("padded", [False, True])
@with_each("size", [4, 7, 8, 13])
@with_each("count", [1, 2])
def test_sizes(folder: Path, policy: str, padded: bool, size: int, count: int) -> None:
    def rows(engine: Any) -> Any:
        pipelines = [reading(engine, folder, pad_last_batch=padded) for _ in range(count)]
        return run(engine, pipelines, size=size, policy=policy, last_batch_padded=padded)

    assert rows(dali_lab) == rows(oracle)


@needs_dali
@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("cycle", ["raise", "no"])
def test_sources_that_end(auto_reset: bool, cycle: str) -> None:
    def rows(engine: Any) -> Any:
        module = plugin(engine)
        iterator = module.DALIGenericIterator([numbers(engine, 7, cycle=cycle)], ["x"], auto_reset=auto_reset)
        return epochs(iterator, 3, not auto_reset)

    assert rows(dali_lab) == rows(oracle)


def test_iter_resets_at_the_end() -> None:
    iterator = DALIGenericIterator(numbers(dali_lab, 6), ["x"])
    for _ in range(3):
        assert [batch[0]["x"].flatten().tolist() for batch in iterator] == [[1, 2], [3, 4], [5, 6]]


def test_tensors_lie_over_the_memory_of_the_batch_and_keep_it() -> None:
    pipeline = numbers(dali_lab, 400, batch_size=2)
    iterator = DALIGenericIterator(pipeline, ["x"], prepare_first_batch=False)
    kept = [next(iterator)[0]["x"] for _ in range(50)]
    pointers = {tensor.data_ptr() for tensor in kept}
    assert len(pointers) == 50
    pipeline.close()
    del iterator, pipeline
    gc.collect()
    assert [tensor.flatten().tolist() for tensor in kept] == [[2 * i + 1, 2 * i + 2] for i in range(50)]

    shared = dali_lab.Pipeline(2, 1, None)
    memory = np.ones((2, 3), np.float32)
    with shared:
        shared.set_outputs(dali_lab.fn.external_source(source=lambda: memory, no_copy=True))
    tensor = DALIGenericIterator(shared, ["x"]).next()[0]["x"]
    assert tensor.data_ptr() == memory.ctypes.data, "nothing was copied on the way"


def test_a_failed_batch_is_raised_and_the_next_one_follows() -> None:
    def source(index: int) -> Any:
        if index == 6:
            raise StopIteration
        return np.zeros((1, 1)) if index != 2 else [np.zeros(1), np.zeros((1, 1))]

    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        data = dali_lab.fn.external_source(source=lambda i: source(i) if i != 2 else [np.zeros((1,)), np.zeros((2,))])
        pipeline.set_outputs(data)
    iterator = DALIGenericIterator(pipeline, ["x"])
    rows: list[Any] = []
    for _ in range(7):
        try:
            rows.append(next(iterator)[0]["x"].shape[0])
        except (ValueError, RuntimeError):
            rows.append("error")
        except StopIteration:
            rows.append("end")
    assert rows == [1, 1, "error", 1, 1, 1, "end"]


def test_pipelines_stay_in_step_where_one_of_them_fails() -> None:
    def counting(fails: int) -> dali_lab.Pipeline:
        def refuse(sample: np.ndarray) -> np.ndarray:
            if sample[0] == fails:
                raise ValueError("no such sample")
            return sample

        pipeline = dali_lab.Pipeline(2, 1, None)
        with pipeline:
            counted = dali_lab.fn.external_source(lambda info: np.array([info.idx_in_epoch]), batch=False)
            pipeline.set_outputs(dali_lab.fn.python_function(counted, function=refuse))
        return pipeline

    iterator = DALIGenericIterator([counting(3), counting(7)], ["x"], size=100, prepare_first_batch=False)
    rows: list[Any] = []
    for _ in range(5):
        try:
            rows.append([batch["x"][0].item() for batch in next(iterator)])
        except (ValueError, RuntimeError):
            rows.append("error")
    assert rows == [[0, 0], "error", [4, 4], "error", [8, 8]]


def test_classification_and_lengths(folder: Path) -> None:
    pipeline = reading(dali_lab, folder, 4, pad_last_batch=True)
    iterator = DALIClassificationIterator(pipeline, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL)
    batches = [batch[0] for batch in iterator]
    assert len(iterator) == 4 and [len(batch["data"]) for batch in batches] == [4, 4, 4, 1]
    assert set(batches[0]) == {"data", "label"} and batches[0]["label"].dtype == torch.int32
    pipeline = reading(dali_lab, folder, 4)
    with pytest.warns(UserWarning, match="reader_name"):
        iterator = DALIClassificationIterator(pipeline, size=pipeline.epoch_size("Reader"))
    assert iterator.size == 13 and len(list(iterator)) == 4


@needs_dali
@pytest.mark.parametrize("tag", ["sparse_list", "sparse_coo", "dense"])
def test_ragged(tag: str) -> None:
    def rows(engine: Any) -> Any:
        pipeline = engine.Pipeline(3, 1, None)
        with pipeline:
            lengths = [2, 2, 2] if tag == "dense" else [1, 3, 2]
            pipeline.set_outputs(
                engine.fn.external_source(source=lambda i: [np.arange(n, dtype=np.float32) + i for n in lengths])
            )
        iterator = plugin(engine).DALIRaggedIterator(pipeline, ["x"], output_types=[tag])
        value = next(iterator)[0]["x"]
        if tag == "sparse_list":
            return [tensor.tolist() for tensor in value]
        return value.to_dense().tolist()

    assert rows(dali_lab) == rows(oracle)


def test_feed_ndarray() -> None:
    pipeline = numbers(dali_lab, 4)
    target = torch.zeros((2, 1), dtype=torch.int64)
    feed_ndarray(pipeline.run()[0], target)
    assert target.flatten().tolist() == [1, 2]
    with pytest.raises(ValueError, match="element type"):
        feed_ndarray(pipeline.run()[0], torch.zeros((2, 1)))
    with pytest.raises(AssertionError, match="Shapes do not match"):  # what NVIDIA DALI raises
        feed_ndarray(numbers(dali_lab, 2).run()[0], torch.zeros((1, 2), dtype=torch.int64))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, "size"),
        ({"size": 3, "reader_name": "Reader"}, "size"),
        ({"reader_name": "Reader", "last_batch_padded": True}, "last_batch_padded"),
        ({"reader_name": "Nobody"}, "Reader"),
        ({"last_batch_policy": "FILL"}, "LastBatchPolicy"),
        ({"auto_reset": "maybe"}, "auto_reset"),
        ({"output_map": ["a", "a"]}, "distinct"),
        ({"output_map": ["a"]}, "2 outputs"),
    ],
)
def test_wrong_arguments(folder: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        DALIGenericIterator(reading(dali_lab, folder), **{"output_map": ["a", "b"], **options})


def test_no_data() -> None:
    pipeline = dali_lab.Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=[]))
    with pytest.raises(RuntimeError, match="no data"):
        DALIGenericIterator(pipeline, ["x"])
    assert DALIRaggedIterator(numbers(dali_lab, 2), ["x"]).output_map == ["x"]


@pytest.mark.parametrize("consumed", [0, 1, 3, 6, 7, 9])
@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("policy", list(LastBatchPolicy))
def test_checkpoints(folder: Path, consumed: int, prepare: bool, policy: LastBatchPolicy) -> None:
    def iterator(checkpoint: bytes | None = None, threads: int = 2) -> Any:
        pipeline = dali_lab.Pipeline(2, threads, None, enable_checkpointing=True, checkpoint=checkpoint, seed=3)
        with pipeline:
            data, label = dali_lab.fn.readers.file(
                file_root=str(folder), name="Reader", random_shuffle=True, initial_fill=3, num_shards=2, shard_id=0
            )
            pipeline.set_outputs(data, label, dali_lab.fn.random.uniform())
        return DALIGenericIterator(
            pipeline,
            ["data", "label", "random"],
            reader_name="Reader",
            auto_reset=True,
            prepare_first_batch=prepare,
            last_batch_policy=policy,
        )

    def take(source: Any, count: int) -> list[Any]:
        rows: list[Any] = []
        while len(rows) < count:
            try:
                rows.append({name: value.flatten().tolist() for name, value in next(source)[0].items()})
            except StopIteration:
                rows.append("end")
        return rows

    whole = iterator()
    take(whole, consumed)
    (saved,) = whole.checkpoints()
    rest = take(whole, 13)
    if prepare and rest[0] == "end":  # the end is over once the next epoch's first batch is prepared, as there
        del rest[0]
    assert take(iterator(saved, 3), 12) == rest[:12]


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize("consumed", [1, 2, 4])
def test_checkpoints_of_sources_behind_the_last_batch(consumed: int, automatic: bool) -> None:
    def iterator(checkpoint: bytes | None = None) -> Any:
        def source(info: Any) -> Any:
            if info.idx_in_epoch >= 4:
                raise StopIteration
            return np.uint8([info.idx_in_epoch])

        pipeline = dali_lab.Pipeline(2, 1, None, enable_checkpointing=True, checkpoint=checkpoint)
        with pipeline:
            pipeline.set_outputs(dali_lab.fn.external_source(source=source, batch=False))
        return DALIGenericIterator(pipeline, ["x"], size=4, auto_reset=automatic)

    def epoch(source: Any) -> list[Any]:
        rows = [row[0]["x"].flatten().tolist() for row in source]
        if not automatic:
            source.reset()
        return rows

    whole = iterator()
    for _ in range(consumed // 2):
        for turn, _ in enumerate(whole, 1):
            if turn == 2 or consumed == 1:
                break
    if consumed == 1:
        next(whole)
    rest = iterator(whole.checkpoints()[0])
    assert [epoch(rest), epoch(rest)] == [[[2, 3]] if consumed == 1 else [[0, 1], [2, 3]], [[0, 1], [2, 3]]]


@needs_dali
@pytest.mark.parametrize("policy", list(LastBatchPolicy))
def test_iterators_of_programs_that_count_for_themselves(folder: Path, policy: LastBatchPolicy) -> None:
    """They override what is under an underscore there, so it is there under the same names here."""

    def counted(engine: Any) -> list[Any]:
        base, seen = plugin(engine).DALIGenericIterator, []

        class Counting(base):  # type: ignore[misc]
            def _advance_and_check_drop_last(self, dry_run: bool = False, end_iteration: bool = True) -> bool:
                seen.append((self._counter, self._size, dry_run, end_iteration))
                return bool(super()._advance_and_check_drop_last(dry_run=dry_run, end_iteration=end_iteration))

            def reset(self) -> None:
                names = ["_last_batch_padded", "_reader_name", "_num_gpus", "_shards_num", "_is_stick_to_shard"]
                seen.append([getattr(self, name) for name in names])
                seen.append((self._last_batch_policy.name, [int(n) for n in self._shard_sizes_per_gpu]))
                if self._advance_and_check_drop_last(dry_run=True, end_iteration=False) and self._counter < self._size:
                    self._get_outputs()
                    self._schedule_runs()
                    self._advance_and_check_drop_last(end_iteration=False)
                self._counter = 0
                for pipeline in self._pipes:
                    pipeline.reset()

        iterator = Counting(
            [reading(engine, folder, 4)],
            ["data", "label"],
            reader_name="Reader",
            auto_reset=True,
            last_batch_policy=plugin(engine).LastBatchPolicy[policy.name],
        )
        return [*epochs(iterator, 3, reset=False), seen]

    assert counted(dali_lab) == counted(oracle)
