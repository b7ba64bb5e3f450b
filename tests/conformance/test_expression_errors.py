"""Refusals of expressions: NVIDIA DALI refuses the same, and our message contains its words."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nvidia import dali

import dali_lab


def _sum(engine: Any, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    pipe = engine.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(engine.fn.zeros(shape=left) + engine.fn.zeros(shape=right))
    return tuple(pipe.run()[0].shape()[0])


TOO_MANY = [
    ((2, 1, 2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2, 1), 7),
    ((2, 2, 1, 2, 1, 2, 1), (2, 1, 2, 1, 2, 1, 2), 7),
    ((2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 2), (1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1), 9),
]


@pytest.mark.parametrize(("left", "right", "groups"), TOO_MANY)
def test_too_many_groups_of_broadcast_axes(left: tuple[int, ...], right: tuple[int, ...], groups: int) -> None:
    for engine in (dali, dali_lab):
        with pytest.raises(RuntimeError, match=f"more than 6 groups of dimensions. Got {groups} groups"):
            _sum(engine, left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 1, 1, 1, 3, 1, 4, 5, 6, 1), (1, 2, 3, 4, 1, 5, 1, 1, 1, 6)),
        ((1, 2, 1, 1, 2, 1, 2), (2, 1, 1, 2, 1, 2, 1)),
        ((2,) * 8, (2,) * 8),
    ],
)
def test_six_groups_are_added(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    expected = np.broadcast_shapes(left, right)
    assert _sum(dali, left, right) == _sum(dali_lab, left, right) == expected


def _refused(call: Callable[[Any], object], engine: Any) -> str:
    node = engine.types.Constant(np.float32([1, 2]))
    with pytest.raises(TypeError) as error:
        call(node)
    return " ".join(str(error.value).split())


@pytest.mark.parametrize("symbol", ["add", "floordiv", "or_", "ne", "ge"])
def test_lists_of_nodes_beside_nodes(symbol: str) -> None:
    theirs = _refused(lambda node: getattr(operator, symbol)(node, [node]), dali)
    ours = _refused(lambda node: getattr(operator, symbol)(node, [node]), dali_lab)
    assert theirs.removeprefix("The ").partition(" Did you")[0] in ours


def test_a_node_as_a_condition() -> None:
    assert _refused(bool, dali) in _refused(bool, dali_lab)
