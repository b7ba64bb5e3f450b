# ruff: noqa: RUF059, RET503  (the programs under test are like users write them)
"""Errors in per-sample ``if``, ``and``, ``or`` and ``not`` are explained, with the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dali_lab
from tests.unit.pipeline.conditional_programs import SIZE, inputs, results, simple


def missing_variable(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        y = e.fn.flip(x)
    return y


def missing_return(e: Any) -> Any:
    p, _, x = inputs(e)

    def inner() -> Any:
        if p:
            return e.fn.flip(x)

    return inner()


def other_structure(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        y = (x, x)
    else:
        y = x
    return y


def gpu_side(e: Any) -> Any:
    p, q, x = inputs(e)
    return p.gpu() and q


def text(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        y = "a"
    else:
        y = "b"
    return x, y


def leaves_loop(e: Any) -> Any:
    p, _, x = inputs(e)
    for _ in range(2):
        if p:
            return x
    return e.fn.flip(x)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (missing_variable, "'y' must also be initialized in the `else` branch"),
        (missing_return, "`else` branch must also have a return"),
        (other_structure, "same nesting structure"),
        (gpu_side, "placed on CPU. Got a GPU input"),
        (text, "cannot be"),
        (leaves_loop, "inside a loop"),
    ],
)
def test_errors_while_defining(program: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words) as caught:
        results(dali_lab, program)
    assert "test_conditional_errors.py:" in str(caught.value)


def not_scalar(e: Any) -> Any:
    _, _, x = inputs(e)
    if x:
        x = e.fn.flip(x)
    return x


def not_bool(e: Any) -> Any:
    p, _, _ = inputs(e)
    n = e.fn.external_source(source=lambda: np.zeros(SIZE, np.int32))
    return p and n


def other_dtype(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        y = x
    else:
        y = e.fn.external_source(source=lambda: np.zeros((SIZE, 1)))
    return y


@pytest.mark.parametrize(
    ("program", "words"),
    [(not_scalar, "scalar"), (not_bool, "inputs of `bool` type"), (other_dtype, "Found distinct types")],
)
def test_errors_while_running(program: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        results(dali_lab, program)


def test_a_condition_without_conditionals_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="enable_conditionals"):
        dali_lab.pipeline_def(simple)(dali_lab, batch_size=SIZE, num_threads=1)


def test_errors_keep_their_lines() -> None:
    def program() -> Any:
        p, _, x = inputs(dali_lab)
        if p:
            x = dali_lab.fn.flip(x, horizontl=1)
        return x

    with pytest.raises(dali_lab.DaliLabError, match="did you mean 'horizontal'") as caught:
        dali_lab.pipeline_def(enable_conditionals=True)(program)(batch_size=SIZE, num_threads=1)
    line = program.__code__.co_firstlineno + 3
    assert f"test_conditional_errors.py:{line}" in str(caught.value)
