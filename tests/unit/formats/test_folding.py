"""Large graphs are drawn with their conditions folded; folding changes only the drawing."""

from __future__ import annotations

from typing import Any

import pytest

from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.drawing import svg
from dali_lab.formats.pictures.folding import FOLDED, condition_folds, folded, with_groups
from dali_lab.formats.python import reader as python_static
from dali_lab.gallery import built_in_folder, load_entry
from dali_lab.graph.graph import Edge, Graph, Node


@pytest.mark.parametrize(("recipe", "most"), [("autoaugment", 16), ("randaugment", 7), ("trivialaugment", 4)])
def test_policies_of_augmentation_are_drawn_on_one_page(recipe: str, most: int) -> None:
    graph = load_entry(built_in_folder() / f"recipe-{recipe}").graph
    shown, folds = folded(graph)
    assert len(shown.nodes) <= most < len(graph.nodes)
    assert {"rotate", "equalize"} & {op for ops in folds.values() for op in ops}
    assert shown.order() and all(edge.node in shown.nodes for edge in shown.outputs)
    assert f"{len(graph.nodes)} nodes" in svg(graph)


CONDITIONS = """
from dali_lab import fn, pipeline_def, types

@pipeline_def(batch_size=2, enable_conditionals=True)
def p():
    images = fn.external_source(name="images", layout="HWC")
    first = fn.random.coin_flip(dtype=types.BOOL)
    if first:
        images = fn.flip(images)
        if fn.random.uniform() > 0.5:
            images = fn.rotate(images, angle=10)
    images = fn.resize(images, size=8)
    if fn.random.uniform() > 0.5:
        images = images + 1
    return images
"""


def test_conditions_one_after_the_other_are_folded_apart_and_nested_ones_together() -> None:
    graph = python_static.read(CONDITIONS)
    ops = [{graph.nodes[name].op for name in fold.nodes} for fold in condition_folds(graph)]
    assert len(ops) == 2
    assert {"flip", "rotate", "random.coin_flip"} < ops[0] and "math.add" in ops[1]
    inside = {name for fold in condition_folds(graph) for name in fold.nodes}
    assert {graph.nodes[name].op for name in graph.nodes if name not in inside} == {"external_source", "resize"}
    assert folded(graph)[1] == {}, "a small graph is drawn as it is"


def test_groups_that_the_editor_folded_are_one_node() -> None:
    nodes = {
        "x": Node("x", "external_source"),
        "a": Node("a", "flip", inputs=(Edge("x"),)),
        "b": Node("b", "flip", inputs=(Edge("a"),)),
        "c": Node("c", "flip", inputs=(Edge("b"),)),
    }

    def graph(**group: Any) -> Graph:
        return Graph(nodes, (Edge("c"),), {}, {"groups": [{"id": "g", "title": "Twice", **group}, "damaged"]})

    shown, folds = folded(graph(nodes=["a", "b", "none"], collapsed=True))
    assert list(shown.nodes) == ["x", "Twice", "c"] and folds == {"Twice": ("flip",)}
    assert shown["Twice"].op == FOLDED and shown["c"].inputs == (Edge("Twice"),)
    assert "Twice" in svg(graph(nodes=["a", "b"], collapsed=True))
    assert folded(graph(nodes=["a", "b"], collapsed=False))[1] == {}
    assert folded(graph(nodes=["a", "c"], collapsed=True))[1] == {}, "b stands between them"
    assert folded(graph(nodes="ab", collapsed=True))[1] == {}


def test_the_editor_gets_groups_for_large_graphs_alone() -> None:
    large = load_entry(built_in_folder() / "recipe-autoaugment").graph
    bare = large.replaced(view={})
    grouped = with_groups(bare)
    assert [group["collapsed"] for group in grouped.view["groups"]] == [True, True]
    assert grouped == bare and with_groups(grouped) is grouped
    assert json_file.loads(json_file.dumps(grouped)).view["groups"] == grouped.view["groups"]
    small = bare.without([name for name in bare.nodes if name != "reader"])
    assert with_groups(small) is small
