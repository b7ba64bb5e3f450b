"""Debug mode: operators run as they are called, with the results of a pipeline."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from dali_lab import DaliLabError, Pipeline, fn, pipeline_def, types
from dali_lab.pipeline import experimental
from dali_lab.pipeline.debug import DataNodeDebug

SETTINGS: dict[str, Any] = {"batch_size": 3, "num_threads": 2, "device_id": None, "seed": 7}


def counted(iteration: int) -> list[np.ndarray]:
    return [np.full((2, index + 1), iteration + index, np.float32) for index in range(3)]


def values(outputs: Any) -> list[Any]:
    return [np.array(output.at(index)).tolist() for output in outputs for index in range(len(output))]


def test_data_is_there_between_calls() -> None:
    seen = []

    @pipeline_def(debug=True, **SETTINGS)
    def debugged() -> Any:
        data = fn.external_source(source=counted)
        more = data * 2 + 1
        assert isinstance(more, DataNodeDebug)
        seen.append(np.array(more.get().at(1)).tolist())
        assert more.shape() == [(2, 1), (2, 2), (2, 3)]
        return more, fn.reductions.sum(more, axes=1)

    @pipeline_def(**SETTINGS)
    def plain() -> Any:
        more = fn.external_source(source=counted) * 2 + 1
        return more, fn.reductions.sum(more, axes=1)

    own, other = debugged(), plain()
    for _ in range(3):
        assert values(own.run()) == values(other.run())
    assert seen == [[[2.0 * (i + 1) + 1] * 2] * 2 for i in range(3)]


def test_unknown_arguments_of_sources_are_ignored() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        return fn.external_source(source=counted, paralel=True)

    debugged = pipe()
    with pytest.warns(UserWarning, match="no argument 'paralel'"):
        (outputs,) = debugged.run()
    assert len(outputs) == 3


def test_arrays_and_tensor_lists_go_back_in() -> None:
    @experimental.pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        data = fn.external_source(source=counted)
        arrays = [np.array(data.get().at(index))[:1] * 10 for index in range(3)]
        means = [np.array(100 * index, np.float32) for index in range(3)]
        return fn.cast(arrays, dtype=types.INT32), fn.copy(data.get()), fn.random.normal(mean=means, stddev=0.0)

    first, second, third = pipe().run()
    assert [first[i].shape() for i in range(3)] == [[1, 1], [1, 2], [1, 3]]
    assert np.array(first.at(2)).tolist() == [[20, 20, 20]]
    assert values([second]) == [array.tolist() for array in counted(0)]
    assert values([third]) == [0, 100, 200]


def test_random_numbers_follow_the_seed_and_go_on() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        return fn.random.uniform(range=(0, 1)), fn.random.uniform(range=(0, 1), seed=3)

    one, two = pipe(), pipe()
    rows = [values(one.run()) for _ in range(3)]
    assert rows == [values(two.run()) for _ in range(3)]
    assert len({tuple(row) for row in rows}) == 3

    @pipeline_def(**SETTINGS)
    def plain() -> Any:
        return fn.random.uniform(range=(0, 1), seed=3)

    other = plain()
    assert [row[3:] for row in rows] == [values(other.run()) for _ in range(3)]


def test_conditions() -> None:
    @pipeline_def(debug=True, enable_conditionals=True, **SETTINGS)
    def pipe() -> Any:
        number = fn.external_source(source=lambda i: [np.int32(i + index) for index in range(3)])
        if number > 2:
            number = number * 10
        elif number == 1:
            number = number - 100
        return number

    pipeline = pipe()
    assert [values(pipeline.run()) for _ in range(3)] == [[0, -99, 2], [-99, 2, 30], [2, 30, 40]]


def test_readers_keep_their_place(tmp_path: Any) -> None:
    for index in range(4):
        np.save(tmp_path / f"{index}.npy", np.int32([index]))

    @pipeline_def(debug=True, **{**SETTINGS, "batch_size": 2})
    def pipe() -> Any:
        return fn.readers.numpy(file_root=str(tmp_path))

    pipeline = pipe()
    assert [values(pipeline.run()) for _ in range(3)] == [[[0], [1]], [[2], [3]], [[0], [1]]]


def test_feeding_and_the_end_of_an_epoch() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def fed() -> Any:
        return fn.external_source(name="data") + 1

    pipeline = fed()
    pipeline.feed_input("data", [np.int32(1), np.int32(2)])
    assert values(pipeline.run()) == [2, 3]
    assert values(pipeline.run(data=[np.int32(5)])) == [6]
    with pytest.raises(DaliLabError, match="feed_input"):
        pipeline.run()

    batches = [[np.int32(1)], [np.int32(2)]]

    @pipeline_def(debug=True, **SETTINGS)
    def finite() -> Any:
        return fn.external_source(source=batches, cycle="raise")

    pipeline = finite()
    for _ in range(2):
        assert [values(pipeline.run()), values(pipeline.run())] == [[1], [2]]
        with pytest.raises(StopIteration):
            pipeline.run()
        pipeline.reset()


def test_other_calls_in_a_later_run_are_refused() -> None:
    runs = []

    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        runs.append(None)
        node = fn.random.uniform(range=(0, len(runs) // 2 + 1))
        return node if len(runs) < 4 else fn.copy(node)

    pipeline = pipe()
    pipeline.run()
    with pytest.raises(DaliLabError, match=r"fn\.random\.uniform.*changed"):
        pipeline.run()

    @pipeline_def(debug=True, **SETTINGS)
    def other() -> Any:
        runs.append(None)
        return fn.zeros(shape=[2]) if len(runs) % 2 else fn.random.coin_flip()

    pipeline = other()
    pipeline.run()
    with pytest.raises(DaliLabError, match="same calls"):
        pipeline.run()


@pytest.mark.parametrize(
    "later",
    [
        lambda x, y: fn.cat(x, axis=1),
        lambda x, y: fn.cat(x, y, axis=0),
        lambda x, y: fn.cat(x, y),
    ],
    ids=["fewer inputs", "another value", "no value"],
)
def test_calls_that_change_are_refused(later: Any) -> None:
    """Without debug mode the function runs once, so what changes would stand still there."""
    runs = []

    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        runs.append(None)
        x, y = (fn.random.uniform(range=[0.0, value], shape=[2, 2]) for value in (1.0, 2.0))
        return fn.cat(x, y, axis=1) if len(runs) < 3 else later(x, y)

    pipeline = pipe()
    pipeline.run()
    pipeline.run()
    with pytest.raises(DaliLabError, match=r"fn\.cat"):
        pipeline.run()


def test_numbers_in_expressions_stay_those_of_the_first_run() -> None:
    runs = []

    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        runs.append(None)
        return fn.zeros(shape=[1]) + len(runs)

    pipeline = pipe()
    assert values(pipeline.run()) == values(pipeline.run()) == [[1]] * 3


def test_batches_of_one_run_have_one_size() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        return fn.zeros(shape=[1]), fn.external_source(source=lambda: [np.zeros(1)] * 2)

    with pytest.raises(DaliLabError, match=r"2 samples.* 3"):
        pipe().run()


def test_errors_name_the_call() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        return fn.crop(fn.zeros(shape=[4, 4, 3], dtype=types.UINT8), crop=(9, 9))

    with pytest.raises(DaliLabError, match=r"fn\.crop(.|\n)*test_debug_mode"):
        pipe().run()


@pytest.mark.parametrize("at", ["source", "function"])
def test_the_traceback_of_a_function_is_shown(at: str) -> None:
    def fails(given: Any) -> Any:
        raise KeyError("the cat is out")

    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        data = fn.external_source(source=fails if at == "source" else counted)
        return fn.python_function(data, function=fails)

    with pytest.raises(DaliLabError) as caught:
        pipe().run()
    assert 'raise KeyError("the cat is out")' in "".join(traceback.format_exception(caught.value))


def test_a_call_may_turn_it_off() -> None:
    @pipeline_def(debug=True, **SETTINGS)
    def pipe() -> Any:
        return fn.zeros(shape=[2])

    assert type(pipe(debug=False)) is Pipeline
    outputs = pipe()
    outputs.schedule_run()
    assert values(outputs.share_outputs()) == [[0, 0]] * 3
    outputs.release_outputs()
    outputs.close()
