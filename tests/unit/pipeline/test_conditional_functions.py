"""Conditionals in functions that call themselves and in functions with annotated variables."""

from __future__ import annotations

from typing import Any

import numpy as np

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
