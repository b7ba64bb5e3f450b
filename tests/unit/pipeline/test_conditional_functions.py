"""Conditionals in functions that call themselves and in functions with annotated variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab import fn, pipeline_def


def nested(depth: int, flag: Any, data: Any) -> Any:
    """Mirror `data` in samples with the flag, `depth` times over."""
    if depth == 0:
        return data
    if flag:
        return nested(depth - 1, flag, data + 1)
    else:
        return data


def annotated(count: int, flag: Any, data: Any) -> Any:
    if count == 0:
        return data
    step: int = count
    extra: int
    if flag:
        data = data + step
    extra = step
    return data + extra


def run(function: Any, number: int) -> list[int]:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
    def pipeline() -> Any:
        flag = fn.external_source(source=lambda: [np.bool_(True), np.bool_(False)])
        return function(number, flag, fn.external_source(source=lambda: [np.int32(0)] * 2))

    (result,) = pipeline().run()
    return [int(np.array(result.at(index))) for index in range(2)]


def test_a_function_may_call_itself() -> None:
    assert run(nested, 3) == [3, 0]


def test_variables_may_be_annotated() -> None:
    assert run(annotated, 4) == [8, 4]


def choose(flag: Any, data: Any) -> Any:
    if flag:
        data = data + 1
    return data


def test_pipelines_and_functions_may_be_lambdas() -> None:
    def source(values: list[Any]) -> Any:
        return fn.external_source(source=lambda: values)

    def numbers() -> Any:
        return source([np.int32(3), np.int32(5)])

    def flags() -> Any:
        return source([np.bool_(True), np.bool_(False)])

    def make(define: Any) -> list[int]:
        made = pipeline_def(define, batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
        (result,) = made().run()
        return [int(np.array(result.at(index))) for index in range(2)]

    assert make(lambda: choose(flags(), numbers())) == [4, 5]
    assert make(lambda: (lambda flag, data: data * 2 if flag else data)(flags(), numbers())) == [6, 5]
    both = (lambda data: choose(flags(), data), lambda data: choose(not flags(), data))
    assert [make(lambda f=f: f(numbers())) for f in both] == [[4, 5], [3, 6]]


def test_chained_comparisons_are_joined() -> None:
    asked = []

    def limit(data: Any) -> Any:
        asked.append(data)
        return data + 4

    def between(_count: int, _flag: Any, data: Any) -> Any:
        values = fn.external_source(source=lambda: [np.int32(2), np.int32(7)])
        if 1 < values <= limit(data) != 0:
            data = data + 10
        return data

    assert run(between, 0) == [10, 0]
    assert len(asked) == 1


def test_a_branch_may_delete_its_variable() -> None:
    def deleting(count: int, flag: Any, data: Any) -> Any:
        if flag:
            more = data + count
            data = more * 2
            del more
        return data

    def reading(count: int, flag: Any, data: Any) -> Any:
        if flag:
            more = data + count
            del more
            data = more
        return data

    assert run(deleting, 3) == [6, 0]
    with pytest.raises(UnboundLocalError, match="more"):
        run(reading, 3)
