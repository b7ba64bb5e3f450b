"""Graphs are equal by meaning: an argument that repeats its default makes no difference, where operators see none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dali_lab
from dali_lab import types
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.meaning import TOLD_APART
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.registry import all_operators


def one(**arguments: object) -> Graph:
    nodes = {"x": Node("x", "external_source"), "y": Node("y", "rotate", "cpu", (Edge("x"),), arguments)}
    return Graph(nodes, (Edge("y"),), {"batch_size": 4})


def test_explicit_defaults_make_no_difference() -> None:
    plain, spelt = one(angle=3.0), one(angle=3.0, keep_size=False, axis=None)
    assert plain == spelt
    assert not difference(plain, spelt)
    assert plain != one(angle=3.0, keep_size=True)
    assert [str(change) for change in difference(spelt, one(angle=4.0, keep_size=False))] == ["~ y: angle: 3 → 4"]
    settings = {"batch_size": 4, "num_threads": 2, "device_id": None, "prefetch_queue_depth": 2, "exec_async": True}
    assert plain == plain.replaced(pipeline=settings)
    assert plain != plain.replaced(pipeline={**settings, "seed": 1})
    assert plain != plain.replaced(pipeline={**settings, "exec_async": 1})


def test_defaults_that_operators_tell_from_nothing_count() -> None:
    assert one(interp_type=types.INTERP_LINEAR) != one()
    unknown = Node("a", "made.up", arguments={"x": None})
    assert unknown != Node("a", "made.up")


def test_every_argument_that_an_operator_asks_about_is_known() -> None:
    asked: set[str] = set()
    for path in (Path(dali_lab.__file__).parent / "operators").rglob("*.py"):
        asked.update(re.findall(r'"(\w+)" (?:not )?in (?:self|operator|kernel)\.given', path.read_text("utf-8")))
    with_defaults = {
        arg.name
        for operator in all_operators().values()
        for arg in operator.argument_table.values()
        if arg.default is not None and arg.default is not REQUIRED
    }
    assert asked & with_defaults <= TOLD_APART
    assert len(asked & with_defaults) > 3


@pytest.mark.parametrize("value", [0.0, 0, False])
def test_values_of_other_types_are_no_defaults(value: object) -> None:
    assert (one(keep_size=value) == one()) is (value is False)
