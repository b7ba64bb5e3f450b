"""Python functions as operators give what NVIDIA DALI gives, in the order of the batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, ops

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn
    import nvidia.dali.ops  # noqa: F401
except ImportError:
    oracle = None

needs_dali = pytest.mark.skipif(oracle is None, reason="NVIDIA DALI is the oracle of these tests")


def run(engine: Any, define: Any, count: int = 3, **settings: Any) -> list[Any]:
    pipeline = engine.Pipeline(
        **{"batch_size": 2, "num_threads": 2, "device_id": None, **settings},
        **({} if engine is dali_lab else {"exec_async": False, "exec_pipelined": False}),
    )
    with pipeline:
        images = engine.fn.external_source(
            source=lambda i: [np.full((2 + s, 3), (10 * i + s) % 256, np.uint8) for s in range(2)], layout="HW"
        )
        nodes = define(engine, images)
        pipeline.set_outputs(*(nodes if isinstance(nodes, (list, tuple)) else (nodes,)))
    return [
        [
            (out.dtype.name, out.layout(), [np.array(out.at(s)).tolist() for s in range(len(out))])
            for out in pipeline.run()
        ]
        for _ in range(count)
    ]


CASES: dict[str, Any] = {
    "one": lambda e, x: e.fn.python_function(x, function=lambda a: a.astype(np.float32) / 2),
    "two inputs, two outputs": lambda e, x: e.fn.python_function(
        x, x, function=lambda a, b: (a + b, np.int64([a.sum()])), num_outputs=2
    ),
    "batch": lambda e, x: e.fn.python_function(x, function=lambda a: [v[::-1] for v in a], batch_processing=True),
    "layout": lambda e, x: e.fn.python_function(x, function=lambda a: a[..., None].copy(), output_layouts="HWC"),
    "one layout for all": lambda e, x: e.fn.python_function(
        x, function=lambda a: (a, a + 1), num_outputs=2, output_layouts="AB"
    ),
    "one layout of two": lambda e, x: e.fn.python_function(
        x, function=lambda a: (a, a + 1), num_outputs=2, output_layouts=["AB"]
    ),
    "no input": lambda e, x: [x, e.fn.python_function(function=lambda: np.float64([1.5, 2]))],
    "object": lambda e, x: e.ops.PythonFunction(function=lambda a: a + 1, num_outputs=1)(x),
    "dlpack": lambda e, x: e.fn.dl_tensor_python_function(x, function=list),
    "dlpack to arrays": lambda e, x: e.fn.dl_tensor_python_function(
        x, function=lambda capsules: [mirrored_in_place(e, capsule) for capsule in capsules]
    ),
}


def mirrored_in_place(engine: Any, capsule: object) -> object:
    array = engine.ops._dlpack_to_array(capsule)
    array[0] += 1
    return engine.ops._dlpack_from_array(np.fliplr(array))


@needs_dali
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_dali(name: str) -> None:
    assert run(dali_lab, CASES[name]) == run(oracle, CASES[name])


def test_batches_come_in_order_with_many_threads() -> None:
    seen: list[int] = []

    def note(array: np.ndarray) -> np.ndarray:
        seen.append(int(array[0, 0]))
        return array

    run(dali_lab, lambda e, x: fn.python_function(x, function=note), 30, num_threads=4, prefetch_queue_depth=5)
    assert seen[:60] == [(10 * i + s) % 256 for i in range(30) for s in range(2)]


def test_functions_without_outputs_run() -> None:
    seen: list[int] = []

    def define(engine: Any, x: Any) -> Any:
        assert fn.python_function(x, function=lambda a: seen.append(int(a[0, 0])), num_outputs=0) == []
        return x

    run(dali_lab, define, prefetch_queue_depth=1)
    assert seen == [0, 1, 10, 11, 20, 21]


def test_what_a_function_raises_names_the_node() -> None:
    def fails(array: np.ndarray) -> np.ndarray:
        raise KeyError("the cat is out")

    with pytest.raises(dali_lab.DaliLabError, match="the cat is out") as caught:
        run(dali_lab, lambda e, x: fn.python_function(x, function=fails, name="cat"))
    assert "'cat'" in str(caught.value) and "test_python_function.py:" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"function": lambda a: (a, a)}, "`num_outputs=1` outputs, but returned 2"),
        ({"function": lambda a: a, "num_outputs": 2}, "tuple of 2"),
        ({"function": lambda a: "text"}, "arrays of numbers"),
        ({"function": lambda a: a[:1], "batch_processing": True}, "1 samples"),
    ],
)
def test_wrong_answers(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        run(dali_lab, lambda e, x: fn.python_function(x, **options))


def test_a_word_is_no_function() -> None:
    with Pipeline(1, 1, None), pytest.raises(dali_lab.DaliLabError, match="takes a function"):
        fn.python_function(function="os:getcwd")
    assert ops.PythonFunction


def test_the_current_pipeline_is_that_of_the_function() -> None:
    seen: list[Any] = []

    def look(image: Any) -> Any:
        seen.append(Pipeline.current())
        return image

    pipeline = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        pipeline.set_outputs(fn.python_function(np.zeros(1), function=look))
    pipeline.run()
    assert seen and all(found is pipeline for found in seen)
    assert Pipeline.current() is None


def test_layouts_of_more_outputs_than_there_are() -> None:
    pipeline = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with (
        pytest.raises(RuntimeError, match=r"`output_layouts` \(2\) is greater than the number of outputs \(1\)"),
        pipeline,
    ):
        fn.python_function(function=lambda: np.zeros((1, 1)), output_layouts=["HW", "HWC"])
