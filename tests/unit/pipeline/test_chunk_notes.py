"""Chunks of a batch that need values of the others continue when all of them have reached the same point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.data_node import DataNode

EMPTY, WIDE = (3, 0), (3, 2)


def _tensors(shapes: list[tuple[int, ...]]) -> DataNode:
    return fn.external_source(source=lambda: [np.ones(shape, np.float32) for shape in shapes])


def _shapes(define: Callable[[], DataNode], count: int, threads: int = 3) -> list[list[tuple[int, ...]]]:
    """The shapes of three batches; so few samples are a chunk each."""
    pipe = dali_lab.Pipeline(count, threads, None, seed=1)
    with pipe:
        pipe.set_outputs(define())
    return [[tuple(sample.shape()) for sample in pipe.run()[0]] for _ in range(3)]


def test_an_empty_sample_counts_when_another_one_has_elements() -> None:
    def define() -> DataNode:
        return fn.cat(_tensors([EMPTY] * 8), _tensors([EMPTY] * 7 + [WIDE]), _tensors([EMPTY] * 7 + [WIDE]))

    assert _shapes(define, 8) == [[(6, 0)] * 7 + [(6, 2)]] * 3


def test_an_empty_input_is_left_out_when_no_sample_has_elements() -> None:
    def define() -> DataNode:
        return fn.cat(_tensors([WIDE] * 8), _tensors([EMPTY] * 8))

    assert _shapes(define, 8) == [[WIDE] * 8] * 3


def test_one_waits_after_another() -> None:
    def define() -> DataNode:
        first = fn.cat(_tensors([EMPTY] * 8), _tensors([EMPTY] * 8))
        second = fn.cat(first, _tensors([EMPTY] * 4 + [WIDE] * 4), axis=1)
        return fn.cat(second, _tensors([(0, 5)] * 8))

    assert _shapes(define, 8) == [[EMPTY] * 4 + [WIDE] * 4] * 3


def test_what_fails_after_the_wait_names_its_sample() -> None:
    pipe = dali_lab.Pipeline(8, 3, None)
    with pipe:
        pipe.set_outputs(fn.cat(_tensors([WIDE] * 8), _tensors([WIDE] * 5 + [EMPTY] + [WIDE] * 2)))
    with pytest.raises(dali_lab.DaliLabError, match=r"sample 5(.|\n)*\(3, 0\)"):
        pipe.run()
