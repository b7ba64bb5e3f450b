"""In which order the nodes of a graph run, and where their names come from."""

from __future__ import annotations

import pytest

from dali_lab import Pipeline, fn
from dali_lab.errors import GraphError
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.naming import suggesting


def graph(**inputs: str) -> Graph:
    """Nodes that each take some others, named by their letters."""
    return Graph({name: Node(name, "flip", inputs=tuple(map(Edge, taken))) for name, taken in inputs.items()}, (), {})


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (graph(c="b", b="a", a=""), "abc"),
        (graph(d="bc", b="a", c="a", a=""), "abcd"),
        (graph(a="", b="", c="ba"), "abc"),
        (graph(b="a", a="x"), "ab"),
    ],
    ids=["written backwards", "diamond", "forwards", "one that is not there"],
)
def test_producers_come_before_what_takes_from_them(given: Graph, order: str) -> None:
    assert "".join(given.order()) == order


def test_a_circle_is_named_in_order() -> None:
    with pytest.raises(GraphError, match="a ← b ← c ← a") as caught:
        graph(a="b", b="c", c="a").order()
    assert caught.value.node == "a"
    assert graph(a="bb", b="").order() == ["b", "a"], "twice the same is no circle"


def test_a_suggestion_goes_before_the_variable() -> None:
    with Pipeline(1, 1, None) as pipeline:
        variable = fn.random.uniform()
        with suggesting("suggested"):
            other = fn.random.uniform()
        pipeline.set_outputs(variable, other)
    assert list(pipeline.graph.nodes) == ["variable", "suggested"]
