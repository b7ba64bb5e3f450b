"""The work that never changes between epochs, found by operators' traits."""

from __future__ import annotations

import inspect
import re

from dali_lab import fn, pipeline_def
from dali_lab.graph.graph import Graph
from dali_lab.graph.passes.once import cached_part, never_changing, with_caches
from dali_lab.schema.registry import all_operators

_OTHERS = re.compile(r"\.note\(|\.gathered\(|\.indices\b|\.iteration\b|\.drawn_before\b|\.user_context\b|\.ticket\b")
"""Uses of a call that let a result depend on other samples, on the place in the batch or on the run."""


def test_repeatable_operators_see_their_sample_alone() -> None:
    kinds = [kind for each in all_operators().values() if each.repeats() for kind in each.__mro__]
    assert len(kinds) > 300
    own = [kind for kind in dict.fromkeys(kinds) if kind.__module__.startswith("dali_lab.operators.")]
    functions = [each for kind in own for each in vars(kind).values() if inspect.isfunction(each)]
    assert [each.__qualname__ for each in functions if _OTHERS.search(inspect.getsource(each))] == []


def traced(resize: float = 8.0) -> Graph:
    @pipeline_def(batch_size=2, num_threads=1, seed=1)
    def pipeline() -> object:
        encoded, labels = fn.readers.file(files=["a.jpg"], name="reader")
        whole = fn.decoders.image(encoded)
        small = fn.resize(whole, size=resize)
        angle = fn.random.uniform(range=(0.0, 9.0))
        turned = fn.rotate(small, angle=angle)
        padded = fn.pad(small)
        return turned, padded, labels

    return pipeline().graph


def test_reasons() -> None:
    reasons = never_changing(traced())
    assert {name for name, reason in reasons.items() if not reason} == {"reader", "whole", "small"}
    assert "draws random numbers" in reasons["turned"]
    assert "'padded'" in reasons["padded"]


def test_the_part_before_the_last_work() -> None:
    part = cached_part(with_caches(traced()))
    assert part is not None
    assert part.nodes == ("reader", "whole", "small", "small_kept")
    assert [str(edge) for edge in part.exports] == ["reader:1", "small_kept"]
    other = cached_part(with_caches(traced(9.0)))
    assert other is not None
    assert other.meaning != part.meaning
    assert cached_part(traced()) is None
