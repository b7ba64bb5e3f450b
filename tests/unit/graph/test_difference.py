"""Which nodes of two graphs are the same under another name."""

from __future__ import annotations

import numpy as np

from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge, Graph, Node, same_values, unique_name


def words(before: list[Node], after: list[Node]) -> list[str]:
    """The differences of two graphs that give what their last nodes give."""
    graphs = [Graph({node.id: node for node in nodes}, (Edge(nodes[-1].id),), {}) for nodes in (before, after)]
    return [str(change) for change in difference(*graphs)]


def test_each_of_two_equal_nodes_has_a_new_name_of_its_own() -> None:
    def nodes(first: str, second: str) -> list[Node]:
        both = [Node(name, "external_source") for name in (first, second)]
        return [*both, Node("sum", "math.add", inputs=(Edge(first), Edge(second)))]

    assert words(nodes("a", "b"), nodes("c", "d")) == ["~ a is now called c", "~ b is now called d"]


def test_what_a_node_takes_tells_it_from_its_likes() -> None:
    """The two that flip are alike but for what they take, and come in the other order."""

    def nodes(left: str, right: str, flips: list[str]) -> list[Node]:
        taken = {left: "a", right: "b"}
        return [
            Node("a", "external_source", arguments={"name": "a"}),
            Node("b", "external_source", arguments={"name": "b"}),
            *(Node(name, "flip", inputs=(Edge(taken[name]),)) for name in flips),
            Node("sum", "math.add", inputs=(Edge(left), Edge(right))),
        ]

    after = nodes("of_a", "of_b", ["of_b", "of_a"])
    assert words(nodes("x", "y", ["x", "y"]), after) == ["~ x is now called of_a", "~ y is now called of_b"]


def test_a_renamed_node_is_found_behind_one_that_is_renamed() -> None:
    def chain(source: str, flip: str) -> list[Node]:
        return [Node(source, "external_source"), Node(flip, "flip", inputs=(Edge(source),))]

    assert words(chain("a", "b"), chain("c", "d")) == ["~ a is now called c", "~ b is now called d"]


def test_arrays_and_lists_are_values_of_their_own() -> None:
    """Equality of arguments is that of kinds too: a list is no array, nor a text, and nan is nan."""
    array = np.array([1, 2])
    assert same_values(array, array.copy())
    assert not same_values(array, [1, 2]) and not same_values([1, 2], array)
    assert not same_values(array, array.astype(np.int16)) and not same_values(array, array.reshape(1, 2))
    assert not same_values([1, 2], [1, 2, 3]) and not same_values([1, 2], 1) and not same_values(1, [1, 2])
    assert same_values([1, 2], (1, 2))
    assert same_values({"a": float("nan")}, {"a": float("nan")}) and not same_values({"a": 1}, [("a", 1)])
    assert not same_values(1, 1.0) and not same_values(1, True) and not same_values(float("nan"), 1.0)


def test_graphs_and_nodes_beside_other_things() -> None:
    node = Node("a", "external_source")
    graph = Graph({"a": node}, (Edge("a"),), {})
    assert graph != "a graph" and node != "a node"
    assert len({node, Node("a", "external_source")}) == 1
    assert unique_name("a", graph.nodes) == "a_2" and unique_name("b", graph.nodes) == "b"
