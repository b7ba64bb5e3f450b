"""Sub-graphs in graph files: instances expand to the nodes of their definition, and files keep them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dali_lab import formats
from dali_lab.errors import FormatError
from dali_lab.formats.json import graph_file
from dali_lab.formats.python.tracing import trace_text
from dali_lab.formats.subgraphs import expanded
from dali_lab.graph.graph import Edge
from dali_lab.graph.switches import without_off

Json = dict[str, Any]
AUGMENT: Json = {
    "inputs": ["images"],
    "arguments": {
        "angle": [{"node": "rotate", "argument": "angle"}],
        "sigma": [{"node": "blur", "argument": "sigma"}],
    },
    "nodes": {
        "rotate": {"op": "rotate", "inputs": ["images"], "arguments": {"angle": 10.0}},
        "blur": {"op": "gaussian_blur", "inputs": ["rotate"], "arguments": {"sigma": 1.0}},
    },
    "outputs": ["blur"],
}
TWICE: Json = {
    "inputs": ["x"],
    "arguments": {"s": [{"node": "a", "argument": "sigma"}, {"node": "b", "argument": "sigma"}]},
    "nodes": {
        "a": {"op": "subgraph.augment", "inputs": ["x"]},
        "b": {"op": "subgraph.augment", "inputs": ["a"]},
    },
    "outputs": ["b", "a"],
}


def document(**nodes: Json) -> Json:
    read: Json = {
        "reader": {"op": "readers.file", "arguments": {"file_root": "./pictures"}},
        "decode": {"op": "decoders.image", "inputs": ["reader"]},
        "draw": {"op": "random.uniform", "arguments": {"range": [-5.0, 5.0]}},
    }
    return {
        "format": "dali-lab/graph",
        "version": 1,
        "nodes": {**read, **nodes},
        "outputs": [*nodes, "reader:1"],
        "subgraphs": {"augment": copy.deepcopy(AUGMENT), "twice": copy.deepcopy(TWICE)},
    }


def example() -> Json:
    return document(
        aug={
            "op": "subgraph.augment",
            "inputs": ["decode"],
            "arguments": {"sigma": 3.0},
            "connections": {"angle": "draw"},
        },
        both={"op": "subgraph.twice", "inputs": ["aug"], "arguments": {"s": 2.0}},
    )


def test_instances_expand_to_the_nodes_of_their_definition() -> None:
    graph = graph_file.from_document(example())
    assert list(graph.nodes)[3:] == [
        "aug/rotate", "aug/blur", "both/a/rotate", "both/a/blur", "both/b/rotate", "both/b/blur",
    ]  # fmt: skip
    rotate, blur = graph["aug/rotate"], graph["aug/blur"]
    assert (rotate.inputs, dict(rotate.arguments), rotate.connections["angle"]) == (
        (Edge("decode"),), {}, Edge("draw"),
    )  # fmt: skip
    assert blur.arguments["sigma"] == (3.0,)
    assert graph["both/a/rotate"].arguments["angle"] == 10.0
    assert graph["both/a/blur"].arguments["sigma"] == graph["both/b/blur"].arguments["sigma"] == (2.0,)
    assert graph.outputs == (Edge("aug/blur"), Edge("both/b/blur"), Edge("reader", 1))


def test_files_keep_sub_graphs_and_paths_beside_them(tmp_path: Path) -> None:
    import jsonschema  # its formats are parsed on import, which takes seconds

    schema = json.loads(graph_file.SCHEMA_FILE.read_text())
    before = example()
    jsonschema.validate(before, schema)
    graph = graph_file.from_document(before)
    after = graph_file.to_document(graph)
    assert [after[part] for part in ("nodes", "outputs", "subgraphs")] == [
        before[part] for part in ("nodes", "outputs", "subgraphs")
    ]
    path = tmp_path / "graph.dali.json"
    path.write_text(json.dumps(before))
    read = formats.load(path)
    assert read["reader"].arguments["file_root"] == str(tmp_path / "pictures")
    other = tmp_path / "copy.dali.json"
    formats.dump(read, other)
    assert json.loads(other.read_text())["nodes"] == before["nodes"]
    assert formats.load(other) == read
    # A graph that was changed since is written as it is.
    changed = graph.with_node(graph["aug/blur"].replaced(arguments={"sigma": (4.0,)}))
    flat = graph_file.to_document(changed)
    assert "subgraphs" not in flat and graph_file.from_document(flat) == changed


@pytest.mark.parametrize("switch", ["bypass", "disabled"])
def test_an_instance_can_be_switched_off(switch: str) -> None:
    given = {**example(), "view": {"nodes": {"aug": {"x": 1, switch: True}}}}
    graph = graph_file.from_document(given)
    left = without_off(graph)
    assert not any(name.startswith("aug/") for name in left.nodes)
    if switch == "bypass":
        assert left["both/a/rotate"].inputs == (Edge("decode"),) and left.outputs[0] == Edge("decode")
    else:
        assert left.outputs == (Edge("reader", 1),)
    assert graph_file.to_document(graph)["nodes"] == given["nodes"]
    assert graph_file.to_document(graph)["view"]["nodes"] == given["view"]["nodes"]


def test_a_node_with_the_name_of_a_member_stays_what_it_is() -> None:
    given = example()
    given["nodes"]["aug/blur"] = {"op": "flip", "inputs": ["decode"]}
    given["nodes"]["last"] = {"op": "flip", "inputs": ["aug"]}
    graph = graph_file.from_document(given)
    assert graph["aug/blur"].op == "flip" and graph["last"].inputs == (Edge("aug/blur_2"),)


def test_what_is_not_connected_outside_is_not_connected_inside() -> None:
    _, instances = expanded(document(aug={"op": "subgraph.augment"}))
    assert dict(instances["aug"].unconnected) == {0: "images"}
    lost = document(aug={"op": "subgraph.augment", "inputs": ["decode"]})
    # The name of a node outside means nothing inside.
    lost["subgraphs"]["augment"]["nodes"]["rotate"]["inputs"] = ["decode"]
    assert graph_file.from_document(lost)["aug/rotate"].inputs == (Edge("aug/decode"),)


def itself(document: Json) -> None:
    document["subgraphs"]["augment"]["nodes"]["blur"]["op"] = "subgraph.twice"


def doubling(document: Json) -> None:
    for depth in range(40):
        nodes = {each: {"op": f"subgraph.d{depth + 1}"} for each in ("x", "y")}
        document["subgraphs"][f"d{depth}"] = {"inputs": [], "nodes": nodes, "outputs": ["x"]}
    document["subgraphs"]["d40"] = {"inputs": [], "nodes": {"x": {"op": "flip"}}, "outputs": ["x"]}
    document["nodes"]["aug"] = {"op": "subgraph.d0"}


def deep(document: Json) -> None:
    for depth in range(5000):
        nodes = {"x": {"op": f"subgraph.d{depth + 1}"}}
        document["subgraphs"][f"d{depth}"] = {"inputs": [], "nodes": nodes, "outputs": ["x"]}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (deep, "over 64 sub-graphs contain each other"),
        (itself, "contains itself: augment → twice → augment"),
        (doubling, "more than 100,000 nodes"),
        (lambda each: each.update(subgraphs=[]), "must be an object"),
        (lambda each: each["subgraphs"].update(augment=3), "sub-graph 'augment' must be an object"),
        (lambda each: each["subgraphs"]["augment"].update(inputs="images"), "'inputs' must be a list"),
        (lambda each: each["subgraphs"]["augment"].update(inputs=["blur"]), "'blur' is used twice"),
        (lambda each: each["subgraphs"]["augment"].update(outputs=[None]), "'outputs' must be a list"),
        (lambda each: each["subgraphs"]["augment"]["nodes"].update(blur={"inputs": 3}), "'blur' is not written"),
        (lambda each: each["subgraphs"]["augment"]["nodes"]["blur"].update(inputs=[3]), "an edge of the node 'blur'"),
        (lambda each: each["subgraphs"]["augment"].update(arguments={"a": [{"node": "x"}]}), "the argument 'a'"),
    ],
)
def test_a_definition_that_cannot_be_expanded_is_named(damage: Any, words: str) -> None:
    given = example()
    damage(given)
    with pytest.raises(FormatError, match=r"sub-?graphs?") as caught:
        graph_file.from_document(given)
    assert words in str(caught.value)


def shape(document: Json) -> Json:
    """The sub-graphs of a document and their uses, without what is a default."""
    definitions = copy.deepcopy(document["subgraphs"])
    for definition in definitions.values():
        for node in definition["nodes"].values():
            node.pop("device", None)
            # A function with `None` as the default of a parameter leaves the value to each call.
            if node["op"].startswith("subgraph."):
                node.pop("arguments", None)
            node["arguments"] = {
                key: value[0] if isinstance(value, list) else value for key, value in node.get("arguments", {}).items()
            }
    uses = {name: node["op"] for name, node in document["nodes"].items() if node["op"].startswith("subgraph.")}
    return {"definitions": definitions, "uses": uses}


def test_programs_have_functions_for_sub_graphs_and_the_same_graph() -> None:
    graph = graph_file.from_document({**example(), "pipeline": {"batch_size": 6, "seed": 7}})
    text = formats.dumps(graph, "python").decode()
    assert "BATCH_SIZE = 6\nSEED = 7\n" in text
    assert "@subgraph\ndef augment(images, *, angle=10, sigma=1):\n" in text
    assert 'aug = augment(decode, angle=draw, sigma=3, name="aug")' in text
    back = formats.FORMATS["python"].loads(text.encode(), None, None)  # type: ignore[misc]
    assert back == graph
    # The program opens with its sub-graphs, and reads the same again.
    assert shape(graph_file.to_document(back)) == shape(graph_file.to_document(graph))
    assert formats.dumps(back, "python").decode() == text
    scope: Json = {"__name__": "program"}
    exec(text, scope)
    assert scope["pipeline"](seed=graph.pipeline.get("seed")).graph.nodes == graph.nodes
    # NVIDIA DALI has no such functions.
    assert "subgraph" not in formats.dumps(graph, "nvidia-python").decode()


def test_arguments_of_a_sub_graph_inside_of_another() -> None:
    given = example()
    outer = given["subgraphs"]["twice"]
    outer["arguments"]["turn"] = [{"node": "a", "argument": "angle"}]
    given["nodes"]["both"]["connections"] = {"turn": "draw"}
    graph = graph_file.from_document(given)
    assert graph["both/a/rotate"].connections == {"angle": Edge("draw")}
    text = formats.dumps(graph, "python").decode()
    assert "def twice(x, *, s=None, turn=None):" in text
    assert formats.FORMATS["python"].loads(text.encode(), None, None) == graph  # type: ignore[misc]


def test_calls_without_a_name_are_named_after_the_function() -> None:
    program = """
from dali_lab import fn, pipeline_def, subgraph

@subgraph
def turn(images, *, angle=10):
    turned = fn.rotate(images, angle=angle)
    return fn.flip(turned, name="last")

@pipeline_def(batch_size=2)
def pipeline():
    data, _ = fn.readers.file(file_root="pictures", name="reader")
    images = turn(fn.decoders.image(data))
    return turn(images, angle=3), images
"""
    graph = formats.FORMATS["python"].loads(program.encode(), None, None)  # type: ignore[misc]
    assert [name for name in graph.nodes if "/" in name] == [
        "turn/turned", "turn/last", "turn_2/turned", "turn_2/last",
    ]  # fmt: skip
    scope: Json = {"__name__": "program"}
    exec(program, scope)
    assert scope["pipeline"]().graph == graph


PROGRAM = """
from dali_lab import fn, pipeline_def, subgraph

@subgraph
def turn(images, *, angle=10):
    turned = fn.rotate(images, angle=angle)
    return fn.flip(turned, name="last")

@subgraph
def both(images, masks, angle, again=False):
    'Turns pictures with their masks.'
    images, masks = turn(images, angle=angle), fn.rotate(masks, angle=angle)
    if again:
        images = turn(images, angle=-5)
    return {"masks": masks, "images": images}

@pipeline_def(batch_size=2)
def pipeline():
    data, labels = fn.readers.file(file_root="pictures", name="reader")
    images = fn.decoders.image(data)
    drawn = fn.random.uniform(range=(-9, 9), name="drawn")
    first = both(images, fn.hue(images), drawn, name="first")
    second = both(first["images"], first["masks"], 20)
    third = both(second["images"], second["masks"], 30, again=True)
    return third["masks"], third["images"], labels, turn(images)
"""


def test_functions_of_any_program_are_sub_graphs() -> None:
    read = formats.FORMATS["python"].loads(PROGRAM.encode(), None, None)  # type: ignore[misc]
    document = graph_file.to_document(read)
    nodes, both = document["nodes"], document["subgraphs"]["both"]
    assert {name: node["op"] for name, node in nodes.items() if "subgraph" in node["op"]} == {
        "first": "subgraph.both", "both": "subgraph.both", "both_2": "subgraph.both_2", "turn": "subgraph.turn",
    }  # fmt: skip
    assert both["arguments"] == {
        "angle": [{"node": "turn", "argument": "angle"}, {"node": "masks", "argument": "angle"}]
    }
    assert both["summary"] == "Turns pictures with their masks."
    assert (nodes["first"]["connections"], nodes["both"]["arguments"]) == ({"angle": "drawn"}, {"angle": 20.0})
    assert nodes["both"]["inputs"] == ["first:1", "first"]
    # A program that has to be run gives the same.
    assert graph_file.to_document(trace_text(PROGRAM)) == document
