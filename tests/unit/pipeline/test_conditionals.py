# ruff: noqa: RUF059, RET503  (the programs under test are like users write them)
"""Per-sample ``if``, ``and``, ``or`` and ``not`` give what NVIDIA DALI gives, and the same errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dali_lab

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn
    import nvidia.dali.types  # noqa: F401
except ImportError:
    oracle = None

needs_dali = pytest.mark.skipif(oracle is None, reason="NVIDIA DALI is the oracle of these tests")
SIZE = 7


def flags(seed: int) -> Callable[[int], np.ndarray]:
    return lambda index: np.random.default_rng([seed, index]).integers(0, 2, SIZE).astype(bool)


def data(seed: int = 0) -> Callable[[int], list[np.ndarray]]:
    return lambda index: [
        np.random.default_rng([seed, index, i]).integers(0, 255, (4 + i, 5, 3)).astype(np.uint8) for i in range(SIZE)
    ]


def inputs(e: Any) -> Any:
    p = e.fn.external_source(source=flags(1))
    q = e.fn.external_source(source=flags(2))
    x = e.fn.external_source(source=data(), layout="HWC")
    return p, q, x


def simple(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        y = e.fn.flip(x)
    else:
        y = x
    return y


def only_if(e: Any) -> Any:
    p, _, x = inputs(e)
    if p:
        x = e.fn.flip(x, vertical=1)
    return x


def chain(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        x = e.fn.flip(x)
    elif q:
        x = e.fn.flip(x, horizontal=0, vertical=1)
    else:
        x = e.fn.flip(x, vertical=1)
    return x


def nested(e: Any) -> Any:
    p, q, x = inputs(e)
    y = e.fn.flip(x)
    if p:
        if q:
            z = e.fn.flip(y, vertical=1)
        else:
            z = x
        w = e.fn.flip(z)
    else:
        w = y
        z = e.fn.flip(y, vertical=1, horizontal=0)
    return w, z, y


def logic(e: Any) -> Any:
    p, q, x = inputs(e)
    a = p and q
    b = p or q
    c = not p
    d = not (p and not q) or (q and p and b)
    if a or (c and not q):
        x = e.fn.flip(x)
    return x, a, b, c, d


def early_return(e: Any) -> Any:
    p, q, x = inputs(e)

    def choose(value: Any) -> Any:
        if p:
            return e.fn.flip(value)
        value = e.fn.flip(value, vertical=1)
        if q:
            return value
        return e.fn.flip(value, horizontal=0, vertical=1)

    return choose(x)


def structures(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        pair = (x, e.fn.flip(x))
        table = {"a": e.fn.flip(x), "b": [x, x]}
    else:
        pair = (e.fn.flip(x), x)
        table = {"a": x, "b": [e.fn.flip(x), x]}
    return pair[0], pair[1], table["a"], table["b"][0], table["b"][1]


def constants(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        angle = 10
        scale = 1.5
    else:
        angle = -3
        scale = 2.5
    return angle, scale


def python_conditions(e: Any) -> Any:
    p, q, x = inputs(e)
    results = []
    for index in range(3):
        if index == 1:
            continue
        if index == 0 and results == []:
            results.append(e.fn.flip(x))
        else:
            results.append(x)
    flag = None
    if flag is not None and flag > 3:
        return x
    if not flag or results:
        results.append(x if flag else e.fn.flip(x, vertical=1))
    return tuple(results)


def expression(e: Any) -> Any:
    p, q, x = inputs(e)
    return (e.fn.flip(x) if p else x), (e.fn.flip(x) if q and p else e.fn.flip(x, vertical=1))


def spelled_out(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        first = e.fn.flip(x)
    else:
        first = x
    if q and p:
        second = e.fn.flip(x)
    else:
        second = e.fn.flip(x, vertical=1)
    return first, second


def in_loop(e: Any) -> Any:
    p, q, x = inputs(e)
    for predicate in (p, q, p):
        if predicate:
            x = e.fn.flip(x, vertical=1)
        else:
            x = e.fn.flip(x)
    return x


def subscripts(e: Any) -> Any:
    p, _, x = inputs(e)
    out = {"x": x}
    if p:
        out["x"] = e.fn.flip(x)
        out["y"] = x
    else:
        out["y"] = e.fn.flip(x)
    return out["x"], out["y"]


def other_statements(e: Any) -> Any:
    p, q, x = inputs(e)
    match "two":
        case "one":
            x = e.fn.flip(x)
        case "two" if x is not None:
            if p:
                y = e.fn.flip(x)
            else:
                y = x
    try:
        if q:
            z = e.fn.flip(y, vertical=1)
        else:
            z = y
    finally:
        done = True
    with open(__file__) as file:
        if p:
            z = e.fn.flip(z, vertical=1)
        file.readline()
    while done:
        if q:
            z = e.fn.flip(z)
        done = False
    return y, z


class Holder:
    def __init__(self, e: Any) -> None:
        self.e = e

    def flipped(self, p: Any, x: Any, **options: Any) -> Any:
        if p:
            return self.e.fn.flip(x, **options)
        return x

    def __call__(self, p: Any, x: Any) -> Any:
        return self.flipped(p, x, vertical=1)


def functions(e: Any) -> Any:
    p, q, x = inputs(e)
    holder = Holder(e)
    partial = functools.partial(holder.flipped, vertical=1, horizontal=0)
    return holder(p, x), partial(q, x)


def all_false(e: Any) -> Any:
    _, _, x = inputs(e)
    p = e.fn.external_source(source=lambda: np.zeros(SIZE, bool))
    if p:
        x = e.fn.flip(e.fn.flip(x, vertical=1))
        if p:
            x = e.fn.flip(x)
    return x


def numbers_as_conditions(e: Any) -> Any:
    _, _, x = inputs(e)
    n = e.fn.external_source(source=lambda i: np.arange(SIZE, dtype=np.int32) % 3)
    if n:
        x = e.fn.flip(x)
    return x


def drawn_inside(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        r = e.fn.random.uniform(range=[0.0, 1.0], seed=5)
        if e.fn.random.coin_flip(seed=6, dtype=e.types.BOOL):
            r = r
        else:
            r = e.fn.random.uniform(range=[2.0, 3.0], seed=8)
    else:
        r = e.fn.random.uniform(range=[4.0, 5.0], seed=7)
    return r


def orders_of_a_branch(e: Any) -> Any:
    p, q, x = inputs(e)
    if p:
        x = e.fn.permute_batch(x, indices=e.fn.batch_permutation(seed=5))
        if q:
            x = e.fn.permute_batch(x, indices=e.fn.batch_permutation(seed=6, no_fixed_points=True))
    return x, e.fn.batch_permutation(seed=7)


PROGRAMS = [
    simple, only_if, chain, nested, logic, early_return, structures, constants, python_conditions, spelled_out, in_loop,
    subscripts, functions, all_false, numbers_as_conditions, drawn_inside,
    orders_of_a_branch,
]  # fmt: skip


def results(e: Any, program: Callable[[Any], Any], threads: int = 2) -> list[Any]:
    pipeline = e.pipeline_def(enable_conditionals=True)(program)(
        e, batch_size=SIZE, num_threads=threads, device_id=None
    )
    rows = []
    for _ in range(4):
        rows.append(
            [(out.dtype.name, out.layout(), [np.array(out.at(i)) for i in range(len(out))]) for out in pipeline.run()]
        )
    return rows


@needs_dali
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_agrees_with_dali(program: Callable[[Any], Any]) -> None:
    for ours, theirs in zip(results(dali_lab, program), results(oracle, program), strict=True):
        assert len(ours) == len(theirs)
        for (dtype, layout, left), (other_dtype, other_layout, right) in zip(ours, theirs, strict=True):
            assert (dtype, layout) == (other_dtype, other_layout)
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)


def test_conditional_expressions_are_like_statements() -> None:
    """NVIDIA DALI refuses them; here they work."""
    for ours, theirs in zip(results(dali_lab, expression), results(dali_lab, spelled_out), strict=True):
        for (_, _, left), (_, _, right) in zip(ours, theirs, strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)


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
        (other_structure, "different structures"),
        (gpu_side, "on the GPU"),
        (text, "cannot be"),
        (leaves_loop, "inside a loop"),
    ],
)
def test_errors_while_defining(program: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words) as caught:
        results(dali_lab, program)
    assert "test_conditionals.py:" in str(caught.value)


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
    [(not_scalar, "scalar"), (not_bool, "scalars of bool"), (other_dtype, "divergent data")],
)
def test_errors_while_running(program: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        results(dali_lab, program)


def test_taps_inside_branches_and_known_edges() -> None:
    """A preview asks for edges inside a branch, and hands in others that it knows already."""
    from dali_lab.batch.batch import Batch
    from dali_lab.executor.engine import Engine
    from dali_lab.executor.plan import make_plan
    from dali_lab.graph.graph import Edge

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
    run = engine.submit(0, SIZE, known=known)
    run.wait()
    first, second, _ = run.outputs()
    assert len(first) == len(second) == 4
    engine.close()
    engine = Engine(make_plan(graph, wanted[1:], {**known, Edge("first"): first}), 2, {})
    run = engine.submit(0, SIZE, known={**known, Edge("first"): first})
    run.wait()
    again, merged = run.outputs()
    np.testing.assert_array_equal(again.stacked(), second.stacked())
    np.testing.assert_array_equal(merged.stacked(), known[Edge("x")].stacked())
    engine.close()


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
    assert f"test_conditionals.py:{line}" in str(caught.value)


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
    for ours, theirs in zip(results(dali_lab, program, 1), results(dali_lab, program, 4), strict=True):
        for (_, _, left), (_, _, right) in zip(ours, theirs, strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)


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

    for ours, theirs in zip(results(dali_lab, other_statements), results(dali_lab, plain), strict=True):
        for (_, _, left), (_, _, right) in zip(ours, theirs, strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)
