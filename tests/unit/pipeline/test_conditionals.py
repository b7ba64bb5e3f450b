"""Per-sample ``if``, ``and``, ``or`` and ``not`` give what NVIDIA DALI gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dali_lab
from tests.unit.pipeline.conditional_programs import (
    PROGRAMS,
    SIZE,
    drawn_inside,
    expression,
    inputs,
    logic,
    nested,
    orders_of_a_branch,
    other_statements,
    results,
    spelled_out,
)

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn
    import nvidia.dali.types  # noqa: F401
except ImportError:
    oracle = None

needs_dali = pytest.mark.skipif(oracle is None, reason="NVIDIA DALI is the oracle of these tests")


def assert_same(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """That all batches agree in number of outputs, types, layouts and samples."""
    for batch, other in zip(ours, theirs, strict=True):
        for (dtype, layout, left), (other_dtype, other_layout, right) in zip(batch, other, strict=True):
            assert (dtype, layout) == (other_dtype, other_layout)
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)


@needs_dali
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_agrees_with_dali(program: Callable[[Any], Any]) -> None:
    assert_same(results(dali_lab, program), results(oracle, program))


def test_conditional_expressions_are_like_statements() -> None:
    """NVIDIA DALI refuses them; here they work."""
    assert_same(results(dali_lab, expression), results(dali_lab, spelled_out))


def test_taps_inside_branches_and_known_edges() -> None:
    """A preview asks for edges inside a branch, and hands in others that it knows already."""
    from dali_lab.executor.engine import Engine
    from dali_lab.executor.plan import make_plan
    from dali_lab.graph.graph import Edge
    from dali_lab.model.batch import Batch

    def program() -> Any:
        p = dali_lab.fn.external_source(name="p")
        x = dali_lab.fn.external_source(name="x", layout="HWC")
        if p:
            x = dali_lab.fn.flip(dali_lab.fn.flip(x, name="first"), name="second")
        return x

    graph = dali_lab.pipeline_def(enable_conditionals=True)(program)(batch_size=SIZE, num_threads=1).graph
    known = {
        Edge("p"): Batch.dense(np.array([True, False, True, True, False, False, True])),
        Edge("x"): Batch.dense(np.arange(SIZE * 6, dtype=np.uint8).reshape(SIZE, 2, 3, 1), "HWC"),
    }
    wanted = [Edge("first"), Edge("second"), graph.outputs[0]]
    engine = Engine(make_plan(graph, wanted, known), 2, {})
    run = engine.start(engine.prepare(0, SIZE, known=known))
    run.wait()
    first, second, _ = run.outputs()
    assert len(first) == len(second) == 4
    engine.close()
    engine = Engine(make_plan(graph, wanted[1:], {**known, Edge("first"): first}), 2, {})
    run = engine.start(engine.prepare(0, SIZE, known={**known, Edge("first"): first}))
    run.wait()
    again, merged = run.outputs()
    np.testing.assert_array_equal(again.stacked(), second.stacked())
    np.testing.assert_array_equal(merged.stacked(), known[Edge("x")].stacked())
    engine.close()


def test_functions_marked_do_not_convert_are_left_alone() -> None:
    from dali_lab.pipeline import do_not_convert

    @do_not_convert
    def plain(value: Any) -> Any:
        return "node" if value is not None and True else "none"

    def program() -> Any:
        p, _, x = inputs(dali_lab)
        assert plain(p) == "node"
        return x

    dali_lab.pipeline_def(enable_conditionals=True)(program)(batch_size=SIZE, num_threads=1).run()


@pytest.mark.parametrize(
    "program", [nested, logic, drawn_inside, orders_of_a_branch], ids=lambda program: program.__name__
)
def test_threads_do_not_matter(program: Callable[[Any], Any]) -> None:
    assert_same(results(dali_lab, program, 1), results(dali_lab, program, 4))


def test_other_statements_around_conditions() -> None:
    """As spelled out without them."""

    def plain(e: Any) -> Any:
        p, q, x = inputs(e)
        if p:
            y = e.fn.flip(x)
        else:
            y = x
        z = y
        if q:
            z = e.fn.flip(y, vertical=1)
        if p:
            z = e.fn.flip(z, vertical=1)
        if q:
            z = e.fn.flip(z)
        return y, z

    assert_same(results(dali_lab, other_statements), results(dali_lab, plain))
