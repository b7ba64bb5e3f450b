# ruff: noqa: RUF059  (the programs under test are like users write them)
"""Programs with ``if``, ``and``, ``or`` and ``not`` on nodes, for NVIDIA DALI and for us alike."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

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
