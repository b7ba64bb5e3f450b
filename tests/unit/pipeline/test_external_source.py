# ruff: noqa: PT012  (what is raised comes out of loops and of definitions)
"""External sources in all their modes give what NVIDIA DALI gives, or fail with words that help."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from tests.together import with_each

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn
    import nvidia.dali.types  # noqa: F401
except ImportError:
    oracle = None

needs_dali = pytest.mark.skipif(oracle is None, reason="NVIDIA DALI is the oracle of these tests")


def epochs(
    engine: Any, make: Callable[[Any], dict[str, Any]], count: int, batch_size: int = 2, **settings: Any
) -> list[Any]:
    """Results of `count` runs: the samples, or what was raised; the pipeline is reset at each end."""
    pipeline = engine.Pipeline(batch_size, 2, None, **settings)
    with pipeline:
        nodes = engine.fn.external_source(**make(engine))
        pipeline.set_outputs(*(nodes if isinstance(nodes, (list, tuple)) else (nodes,)))
    rows: list[Any] = []
    for _ in range(count):
        try:
            rows.append(
                [
                    (out.dtype.name, out.layout(), [np.array(out.at(i)).tolist() for i in range(len(out))])
                    for out in pipeline.run()
                ]
            )
        except StopIteration:
            rows.append("end")
            pipeline.reset()
    return rows


def numbers(stop: int) -> list[np.ndarray]:
    return [np.full((2, 3), value, np.float32) for value in range(stop)]


class Iterable:
    def __iter__(self) -> Any:
        return iter(numbers(3))


def generator() -> Any:
    yield from numbers(3)


def by_index(index: int) -> Any:
    if index >= 3:
        raise StopIteration
    return np.full((2, 2), index, np.int32)


def by_sample(info: Any) -> Any:
    if info.idx_in_epoch >= 7:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx])


def two_outputs(info: Any) -> Any:
    return np.int64(info.idx_in_epoch), np.full((info.idx_in_batch + 1,), info.iteration, np.uint8)


MODES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "list": lambda e: {"source": numbers(3)},
    "list-quiet": lambda e: {"source": numbers(3), "cycle": "quiet"},
    "list-true": lambda e: {"source": numbers(3), "cycle": True},
    "list-raise": lambda e: {"source": numbers(3), "cycle": "raise"},
    "iterable-raise": lambda e: {"source": Iterable(), "cycle": "raise"},
    "generator": lambda e: {"source": generator()},
    "generator-function": lambda e: {"source": generator},
    "generator-raise": lambda e: {"source": generator, "cycle": "raise"},
    "generator-quiet": lambda e: {"source": generator, "cycle": "quiet"},
    "no-argument": lambda e: {"source": lambda: np.zeros((2, 2, 2)), "layout": "HW"},
    "index": lambda e: {"source": by_index},
    "batch-info": lambda e: {
        "source": lambda info: np.full((2, 1), info.iteration + 10 * info.epoch_idx),
        "batch_info": True,
    },
    "samples": lambda e: {"source": by_sample, "batch": False},
    "samples-outputs": lambda e: {"source": two_outputs, "batch": False, "num_outputs": 2},
    "outputs": lambda e: {
        "source": lambda i: ([np.zeros(3), np.ones(2)], np.full((2, 1), i)),
        "num_outputs": 2,
        "layout": ["W", "C"],
    },
    "outputs-layout-of-one": lambda e: {
        "source": lambda i: (np.zeros((2, 3)), np.full((2, 1), i)),
        "num_outputs": 2,
        "layout": ["W"],
    },
    "outputs-of-an-array": lambda e: {"source": lambda i: np.arange(12).reshape(2, 2, 3) + i, "num_outputs": 2},
    "one-output": lambda e: {"source": lambda i: (np.full((2, 1), i),), "num_outputs": 1},
    "samples-no-argument": lambda e: {"source": lambda: np.float32(3), "batch": False},
    "short-batch": lambda e: {"source": lambda i: np.zeros((1 + i % 2, 2))},
    "uint16": lambda e: {"source": lambda i: [np.full((i + 1,), 7, np.uint16)], "dtype": e.types.UINT16, "ndim": 1},
    "bools": lambda e: {"source": lambda i: np.array([True, False])},
}


@needs_dali
@with_each("mode", MODES)
def test_agrees_with_dali(mode: str) -> None:
    assert epochs(dali_lab, MODES[mode], 9) == epochs(oracle, MODES[mode], 9)


@pytest.mark.parametrize(
    ("mode", "method"),
    [
        *((mode, "fork") for mode in ("index", "samples", "samples-outputs", "batch-info", "generator-raise")),
        # What is sent to workers that start afresh is a function, a generator's function or data.
        *((mode, "spawn") for mode in ("samples-outputs", "generator-raise", "list-quiet")),
    ],
)
def test_workers_give_the_same(mode: str, method: str) -> None:
    plain = epochs(dali_lab, MODES[mode], 9)
    parallel = lambda e: {"batch": True, **MODES[mode](e), "parallel": True, "prefetch_queue_depth": 2}  # noqa: E731
    assert epochs(dali_lab, parallel, 9, py_num_workers=2, py_start_method=method) == plain


def test_the_source_may_use_its_memory_again() -> None:
    memory = np.zeros((2, 2), np.int32)

    def source(index: int) -> np.ndarray:
        memory[:] = index
        return memory

    rows = epochs(dali_lab, lambda e: {"source": source}, 4, prefetch_queue_depth=3)
    assert [row[0][2][0][0] for row in rows] == [0, 1, 2, 3]


def test_no_copy_uses_the_memory_itself() -> None:
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=lambda: memory, no_copy=True))
    assert np.shares_memory(pipeline.run()[0].at(0), memory)


def fed(**options: Any) -> dali_lab.Pipeline:
    settings = options.pop("settings", {})
    pipeline = dali_lab.Pipeline(3, 2, None, **settings)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(name="input", **options))
    return pipeline


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_named_inputs_and_feeding(depth: int) -> None:
    pipeline = fed(settings={"prefetch_queue_depth": depth})
    for value in range(5):
        (out,) = pipeline.run(input=np.full((2, 1), value))
        assert out.as_array().tolist() == [[value], [value]]
    assert pipeline.input_feed_count("input") == depth
    with pytest.raises(TypeError, match='"DataNode", is wanted, not "int"'):
        pipeline.feed_input(5, np.zeros((2, 1)))
    with pytest.raises(KeyError, match='Could not find an input operator with name "other"; inputs: input'):
        pipeline.input_feed_count("other")
    for value in range(4):
        pipeline.feed_input("input", [np.full(2, value)])
    assert [pipeline.run()[0].at(0)[0] for _ in range(4)] == [0, 1, 2, 3]
    for kind in (RuntimeError, IndexError):  # the latter is NVIDIA DALI's
        with pytest.raises(kind, match=r"no batch was fed[\s\S]*data batch that doesn't exist"):
            pipeline.run()
    assert pipeline.run(input=np.ones((1, 1), np.int64))[0].at(0)[0] == 1


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            {"data": np.zeros((2, 3))},
            {"data": np.zeros((2, 3), np.float32)},
            "Type of the data fed to the external source has changed",
        ),
        (
            {"data": np.zeros((2, 3))},
            {"data": np.zeros((2, 3, 4))},
            "Number of dimensions of the data .* was 1 and the current is 2",
        ),
        (
            {"data": np.zeros((2, 3)), "layout": "X"},
            {"data": np.zeros((2, 3))},
            'Layout of the data .* was "X" and the current',
        ),
        ({"data": np.zeros((2, 3))}, {"data": np.zeros((2, 3)), "layout": "X"}, ""),
        ({"data": np.zeros((2, 3))}, {"data": np.zeros((1, 9))}, ""),
    ],
)
def test_batches_stay_of_one_kind(first: dict[str, Any], second: dict[str, Any], words: str) -> None:
    pipeline = fed(settings={"prefetch_queue_depth": 1})
    pipeline.feed_input("input", **first)
    pipeline.run()
    pipeline.feed_input("input", **second)
    if not words:
        pipeline.run()
        return
    with pytest.raises(dali_lab.DaliLabError, match=words):
        pipeline.run()
    pipeline.feed_input("input", **first)
    pipeline.run()


def test_a_layout_other_than_the_declared_one_is_refused() -> None:
    pipeline = fed(layout="X")
    with pytest.raises(dali_lab.DaliLabError, match='Expected data with layout: "X" and got: "Y"'):
        pipeline.feed_input("input", np.zeros((2, 3)), layout="Y")


def test_the_last_batch_is_repeated() -> None:
    pipeline = fed(repeat_last=True)
    pipeline.feed_input("input", np.zeros((2, 1)))
    assert [pipeline.run()[0].at(0)[0] for _ in range(3)] == [0, 0, 0]


def test_blocking_waits_for_another_thread() -> None:
    import threading

    pipeline = fed(blocking=True, settings={"prefetch_queue_depth": 1})
    pipeline.build()
    threading.Timer(0.1, lambda: pipeline.feed_input("input", np.ones((1, 1)))).start()
    assert pipeline.run()[0].at(0)[0] == 1


def test_blocking_does_not_wait_for_batches_that_only_fill_the_queue() -> None:
    pipeline = fed(blocking=True, settings={"prefetch_queue_depth": 5})
    for value in range(3):
        pipeline.feed_input("input", np.full((1, 1), value))
        assert pipeline.run()[0].at(0)[0] == value


def test_feeding_what_came_out() -> None:
    pipeline = fed(settings={"prefetch_queue_depth": 1})
    pipeline.feed_input("input", [np.zeros(2), np.ones(4)], layout="W")
    (out,) = pipeline.run()
    pipeline.feed_input("input", out)
    assert pipeline.run()[0].shape() == [(2,), (4,)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": 5}, "must be callable, iterable or a parameterless generator function"),
        ({"source": lambda a, b: None}, "more than one positional argument"),
        ({"source": lambda *a: None}, r"`\*a`"),
        ({"source": lambda: None, "cycle": "quiet"}, "callable"),
        ({"source": generator(), "cycle": True}, "pass that function instead"),
        ({"source": [1], "cycle": "sometimes"}, "Valid values are 'no', 'quiet', 'raise'"),
        ({"num_outputs": 2}, "needs a source"),
        ({"source": [1], "repeat_last": True}, "repeat_last"),
        ({"source": [1], "prefetch_queue_depth": 2}, "parallel"),
        ({"source": lambda: 1, "parallel": True}, "must accept exactly one argument"),
        ({"source": [1], "parallel": True, "batch": False}, "must be run in a batch mode"),
        ({"sorce": [1]}, "did you mean 'source'"),
    ],
)
def test_wrong_definitions(options: dict[str, Any], words: str) -> None:
    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline, pytest.raises(dali_lab.DaliLabError, match=words) as caught:
        dali_lab.fn.external_source(**options)
    assert "external_source" in str(caught.value) and "test_external_source.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source": lambda: np.zeros((3, 1))}, "Expected batch_size <= 2, actual: 3"),
        (
            {"source": lambda: np.zeros((2, 1)), "dtype": dali_lab.types.UINT8},
            "expected data of type uint8 and got: double",
        ),
        ({"source": lambda: np.zeros((2, 1)), "ndim": 2}, "expected data with 2 dimensions and got 1"),
        ({"source": lambda: np.zeros((2, 1)), "layout": "HWC"}, "layout 'HWC' cannot describe"),
        ({"source": lambda: [np.zeros(2), np.zeros((1, 2))]}, "sample 1 has 2, sample 0 has 1"),
        ({"source": lambda: [np.zeros(2), np.zeros(2, np.int8)]}, "new: int8 for sample idx: 1"),
        ({"source": lambda: "text"}, "takes arrays of numbers"),
        ({"source": lambda: 3.5, "num_outputs": 2}, "must give a tuple of 2"),
    ],
)
def test_wrong_data(options: dict[str, Any], words: str) -> None:
    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        nodes = dali_lab.fn.external_source(**options)
        pipeline.set_outputs(*(nodes if isinstance(nodes, list) else [nodes]))
    with pytest.raises(RuntimeError, match=words):
        pipeline.run()


def failing(index: int) -> np.ndarray:
    if index == 2:
        raise KeyError("the cat is out")
    return np.full((2, 1), index)


@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["here", "worker"])
def test_an_error_of_the_source_arrives_with_its_traceback(options: dict[str, Any]) -> None:
    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=2)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=failing, **options))
    assert [int(pipeline.run()[0].at(0)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(KeyError, match="the cat is out") as caught:
        pipeline.run()
    assert 'raise KeyError("the cat is out")' in "".join(traceback.format_exception(caught.value))
    pipeline.close()


@pytest.mark.parametrize("parallel", [False, True], ids=["here", "worker"])
def test_sources_stay_in_step_where_one_of_them_fails_once(parallel: bool, tmp_path: Path) -> None:
    failed = tmp_path / "failed"

    def fails_once(index: int) -> np.ndarray:
        if index == 3 and not failed.exists():
            failed.touch()
            raise OSError("no network")
        return np.full((2, 1), index)

    def make(**settings: Any) -> dali_lab.Pipeline:
        pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=2, enable_checkpointing=True, **settings)
        with pipeline:
            counted = dali_lab.fn.external_source(lambda index: np.full((2, 1), index))
            pipeline.set_outputs(counted, dali_lab.fn.external_source(fails_once, parallel=parallel))
        return pipeline

    def numbers(pipeline: dali_lab.Pipeline) -> list[int]:
        return [int(output.at(0)[0]) for output in pipeline.run()]

    pipeline = make()
    assert [numbers(pipeline) for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(OSError, match="no network"):
        pipeline.run()
    assert numbers(make(checkpoint=pipeline.checkpoint())) == [3, 3]
    assert [numbers(pipeline) for _ in range(2)] == [[3, 3], [4, 4]]
    pipeline.close()


class RaisingOnce:
    """Numbers from 0 to 5; at 2 it raises, and then goes on."""

    def __iter__(self) -> RaisingOnce:
        self.next = -1
        return self

    def __next__(self) -> np.ndarray:
        self.next += 1
        if self.next == 2:
            raise OSError("no network")
        if self.next > 5:
            raise StopIteration
        return np.full((2, 1), self.next)


def refused_once() -> Iterator[Any]:
    """Numbers from 0 to 5; in the place of 2 samples that cannot be in one batch."""
    for index in range(6):
        yield np.full((2, 1), index) if index != 2 else [np.zeros(1), np.zeros((2, 2))]


@pytest.mark.parametrize("parallel", [False, True], ids=["here", "worker"])
@pytest.mark.parametrize("source", [RaisingOnce(), refused_once], ids=["raises", "is refused"])
def test_sources_stay_in_step_where_a_batch_is_lost(source: Any, parallel: bool) -> None:
    def count(index: int) -> np.ndarray:
        return np.full((2, 1), index)

    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=1)
    with pipeline:
        nodes = [
            dali_lab.fn.external_source(each, parallel=parallel and each is source) for each in (count, source, count)
        ]
        pipeline.set_outputs(*nodes)
    rows: list[Any] = []
    for _ in range(7):
        try:
            rows.append([int(output.at(0)[0]) for output in pipeline.run()])
        except StopIteration:
            rows.append("end")
        except (OSError, RuntimeError):
            rows.append("error")
    pipeline.close()
    assert rows == [[0] * 3, [1] * 3, "error", [3] * 3, [4] * 3, [5] * 3, "end"]


@pytest.mark.parametrize("wrong", ["first", "second"])
def test_fed_inputs_stay_in_step_where_a_batch_is_refused(wrong: str) -> None:
    pipeline = dali_lab.Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(*(dali_lab.fn.external_source(name=name) for name in ("first", "second")))
    for index in range(4):
        for name in ("first", "second"):
            dtype = np.float32 if (index, name) == (1, wrong) else np.int32
            pipeline.feed_input(name, np.full((2, 1), index, dtype))
    rows: list[Any] = []
    for _ in range(4):
        try:
            rows.append([int(output.at(0)[0]) for output in pipeline.run()])
        except RuntimeError:
            rows.append("error")
    assert rows == [[0, 0], "error", [2, 2], [3, 3]]


def test_a_killed_worker_is_an_error_and_no_hang() -> None:
    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=2, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=killing, batch=False, parallel=True))
    with pytest.raises(RuntimeError, match=r"killed by signal 9 \(SIGKILL\)"):
        for _ in range(10):
            pipeline.run()
    pipeline.close()


def killing(info: Any) -> np.ndarray:
    if info.iteration == 3 and info.idx_in_batch == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.zeros(1)


def test_a_source_in_a_worker_may_end_with_an_object_that_cannot_be_sent() -> None:
    def ending(index: int) -> np.ndarray:
        if index == 2:
            raise StopIteration(threading.Lock())
        return np.full((2, 1), index)

    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=1)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(ending, parallel=True))
    assert [int(pipeline.run()[0].at(0)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        pipeline.run()
    pipeline.close()


def test_batches_of_workers_stay_valid_after_the_pipeline() -> None:
    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=1)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=lambda i: np.full((2, 1000), i), parallel=True))
    kept = [pipeline.run()[0] for _ in range(12)]
    statistics = pipeline.external_source_shm_statistics()
    assert statistics["capacities"] and min(statistics["capacities"]) >= 16000
    pipeline.close()
    del pipeline
    for index, out in enumerate(kept):
        assert (out.as_array() == index).all()


def test_no_workers() -> None:
    pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=0)
    with pipeline:
        pipeline.set_outputs(dali_lab.fn.external_source(source=by_index, parallel=True))
    with pytest.raises(dali_lab.DaliLabError, match="py_num_workers"):
        pipeline.run()
