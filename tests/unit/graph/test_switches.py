"""Nodes that are bypassed or disabled: the rest works without them, and outputs that are off are reported."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab import Pipeline
from dali_lab.errors import FormatError, GraphError
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import writer as python_code
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.switches import missing_outputs, switched, without_off


def numbers() -> list[np.ndarray]:
    return [np.full((2, 3, 1), index, np.uint8) for index in range(2)]


def chain(**switches: str) -> Graph:
    """numbers → first → second → third, with `aside` beside it, which takes an argument from `chance`."""
    nodes = [
        Node("numbers", "external_source", arguments={"source": numbers, "layout": ("HWC",)}),
        Node("first", "math.add", inputs=(Edge("numbers"),), arguments={"b": 1}),
        Node("second", "math.mul", inputs=(Edge("first"),), arguments={"b": 10}),
        Node("third", "math.add", inputs=(Edge("second"),), arguments={"b": 3}),
        Node("chance", "random.coin_flip", arguments={"seed": 1}),
        Node("aside", "flip", inputs=(Edge("first"),), connections={"horizontal": Edge("chance")}),
    ]
    places = {name: {switch: True} for name, switch in switches.items()}
    outputs = (Edge("third"), Edge("aside"))
    return Graph({node.id: node for node in nodes}, outputs, {"batch_size": 2}, {"nodes": places})


def test_a_disabled_node_takes_along_what_needs_it() -> None:
    graph = chain(second="disabled")
    assert switched(graph).off == {"second": "second", "third": "second"}
    assert list(without_off(graph).nodes) == ["numbers", "first", "chance", "aside"]
    assert without_off(graph).outputs == (Edge("aside"),)
    assert missing_outputs(graph) == ["output 0 ('third') is off: 'second' is disabled"]


def test_an_argument_from_a_disabled_node_is_needed_too() -> None:
    assert switched(chain(chance="disabled")).off == {"chance": "chance", "aside": "chance"}


def test_a_bypassed_node_hands_on_and_a_disabled_one_before_it_does_not() -> None:
    assert without_off(chain(second="bypass")).nodes["third"].inputs == (Edge("first"),)
    graph = chain(first="disabled", second="bypass")
    assert switched(graph).off == {"first": "first", "third": "first", "aside": "first"}
    assert missing_outputs(chain(numbers="bypass"))[0].endswith("'numbers' is bypassed and has nothing to hand on")


def test_disabled_counts_more_than_bypassed() -> None:
    graph = chain().replaced(view={"nodes": {"second": {"bypass": True, "disabled": True}, "gone": {"disabled": True}}})
    assert switched(graph).off == {"second": "second", "third": "second"}
    assert graph == graph.replaced(view={"nodes": {"second": {"disabled": True}}})
    assert graph != graph.replaced(view={"nodes": {"second": {"bypass": True}}})


def test_circles_of_bypassed_nodes_end() -> None:
    nodes = {name: Node(name, "flip", inputs=(Edge(other),)) for name, other in (("a", "b"), ("b", "a"))}
    graph = Graph(nodes, (Edge("a"),), view={"nodes": {"a": {"bypass": True}, "b": {"bypass": True}}})
    assert without_off(graph).outputs == ()


def test_pipelines_run_without_bypassed_nodes_and_refuse_missing_outputs() -> None:
    pipeline = Pipeline.from_graph(chain(second="bypass", aside="bypass"))
    third, aside = pipeline.run()
    assert [int(np.asarray(sample)[0, 0, 0]) for sample in third] == [4, 5]
    assert [int(np.asarray(sample)[0, 0, 0]) for sample in aside] == [1, 2]
    assert "second" in pipeline.graph.nodes
    with pytest.raises(GraphError, match=r"output 0 \('third'\) is off: 'second' is disabled; switch"):
        Pipeline.from_graph(chain(second="disabled")).run()
    graph = chain(second="disabled")
    (only,) = Pipeline.from_graph(graph.replaced(outputs=graph.outputs[1:])).run()
    assert len(only) == 2


@pytest.mark.parametrize("form", [python_code, dali_proto])
def test_exports_refuse_missing_outputs_and_leave_other_nodes_out(form: object) -> None:
    write = form.dumps  # type: ignore[attr-defined]
    graph = chain(chance="disabled")
    graph = graph.replaced(nodes={**graph.nodes, "numbers": Node("numbers", "external_source")})
    with pytest.raises(FormatError, match=r"output 1 \('aside'\) is off: 'chance' is disabled"):
        write(graph)
    text = write(graph.replaced(outputs=graph.outputs[:1]))
    assert ("flip" if isinstance(text, str) else b"Flip") not in text


def test_files_keep_switches_and_differences_tell_of_them() -> None:
    graph = chain(second="disabled", aside="bypass")
    graph = graph.replaced(nodes={**graph.nodes, "numbers": Node("numbers", "external_source")})
    again = json_file.loads(json_file.dumps(graph))
    assert again == graph
    assert again.view["nodes"]["second"] == {"disabled": True}
    plain = graph.replaced(view={})
    assert again != plain
    assert [str(change) for change in difference(plain, again)] == [
        "~ second: switch: in use → disabled",
        "~ aside: switch: in use → bypassed",
    ]
    assert difference(again, graph) == []
