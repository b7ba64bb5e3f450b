"""The project's own file keeps everything, reads well in a diff, and says what is wrong with a bad one."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dali_lab import formats, types
from dali_lab.errors import FormatError
from dali_lab.formats.json import graph_file as json_file
from dali_lab.graph.graph import Edge, Graph, Node, same_values
from dali_lab.graph.verification import problems
from dali_lab.model.references import PythonReference
from tests.together import with_each
from tests.unit.formats.strategies import graphs

SCHEMA = json.loads(json_file.SCHEMA_FILE.read_text())
SETTINGS = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def batches() -> list[np.ndarray]:
    """A source that can be imported by its name."""
    return [np.zeros(3, np.uint8)] * 2


def small_graph() -> Graph:
    return Graph(
        {
            "source": Node("source", "external_source", arguments={"source": batches}),
            "mirrored": Node("mirrored", "flip", "cpu", (Edge("source"),), {"horizontal": 1}),
        },
        (Edge("mirrored"), Edge("source", 0, "gpu")),
        {"batch_size": 2},
        {"nodes": {"mirrored": {"x": 1.5, "y": 2}}},
    )


@SETTINGS
@given(graphs())
def test_reading_what_was_written_gives_the_same_graph(graph: Graph) -> None:
    import jsonschema  # its formats are parsed on import, which takes seconds

    text = json_file.dumps(graph)
    back = json_file.loads(text)
    assert back == graph
    assert list(back.nodes) == list(graph.nodes)
    assert same_values(dict(back.view), dict(graph.view))
    assert json_file.dumps(back) == text
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))


@SETTINGS
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "format",
                        "version",
                        "nodes",
                        "outputs",
                        "pipeline",
                        "view",
                        "op",
                        "inputs",
                        "arguments",
                        "connections",
                        "$array",
                        "$python",
                        "x",
                    ]
                ),
                x,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    document = {**value, "format": json_file.FORMAT, "version": 1} if isinstance(value, dict) else value
    try:
        graph = json_file.loads(json.dumps(document))
    except FormatError:
        return
    problems(graph)
    assert json_file.loads(json_file.dumps(graph)) == graph


@SETTINGS
@given(st.data())
def test_damaged_files_are_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(json_file.dumps(small_graph()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(FormatError):
        problems(json_file.loads(bytes(content)))


def test_the_layout_reads_well() -> None:
    assert (
        json_file.dumps(small_graph())
        == """{
  "format": "dali-lab/graph",
  "version": 1,
  "pipeline": {"batch_size": 2},
  "nodes": {
    "source": {
      "op": "external_source",
      "device": "cpu",
      "arguments": {"source": {"$python": "tests.unit.formats.test_json_file:batches"}}
    },
    "mirrored": {"op": "flip", "device": "cpu", "inputs": ["source"], "arguments": {"horizontal": 1}}
  },
  "outputs": ["mirrored", "source@gpu"],
  "view": {
    "nodes": {"mirrored": {"x": 1.5, "y": 2}}
  }
}
"""
    )


def test_python_objects_are_imported_only_when_trusted() -> None:
    text = json_file.dumps(small_graph())
    assert json_file.loads(text)["source"].arguments["source"] == PythonReference(f"{__name__}:batches")
    graph = formats.trusting(json_file.loads(text))
    assert graph["source"].arguments["source"] is batches
    assert graph == small_graph()


def test_a_lambda_is_kept_as_what_it_looked_like() -> None:
    node = Node("source", "external_source", arguments={"source": lambda: 0})
    back = json_file.loads(json_file.dumps(Graph({"source": node})))
    reference = back["source"].arguments["source"]
    assert reference.name is None
    assert "lambda" in reference.text
    with pytest.raises(FormatError, match="top level of a module"):
        reference.resolve()


def test_a_document_in_the_middle_of_editing_keeps_its_gaps() -> None:
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 4, "device_id": None},
        "nodes": {
            "turned": {"op": "flip", "device": "cpu", "inputs": [None, "gone:2"], "connections": {"vertical": "gone"}},
            "odd": {
                "op": "made.up",
                "device": "cpu",
                "arguments": {"x": [1, "inf"], "y": {"a": None}},
                "colour": "red",
            },
            "wrong": {"op": "flip", "device": "tpu", "inputs": ["odd"], "arguments": {"horizontal": "left", "size": 3}},
        },
        "outputs": ["turned", None],
        "view": {"nodes": {"odd": {"x": 0, "y": 0, "future": 1}}, "theme": "dark"},
        "made_by": {"name": "a newer editor"},
    }
    graph = json_file.from_document(document)
    assert graph["turned"].inputs == (Edge(""), Edge("gone", 2))
    assert json_file.to_document(graph) == document
    found = {(problem.node, problem.input, problem.argument, problem.message) for problem in problems(graph)}
    assert ("turned", 0, None, "input 0 (data) is not connected") in found
    assert any(message.startswith("there is no operator 'made.up'") for *_, message in found)
    assert (None, None, None, "an output of the graph is not connected") in found


def test_what_the_arguments_type_makes_of_json() -> None:
    text = (
        '{"format": "dali-lab/graph", "version": 1, "nodes": {"f": {"op": "flip", "arguments": {"horizontal": 1.0}}}}'
    )
    value = json_file.loads(text)["f"].arguments["horizontal"]
    assert type(value) is int


@pytest.mark.parametrize("name", ["a@gpu", "a:1", "a@cpu:3", "über", "x y", "@gpu", "1"])
def test_names_that_look_like_references(name: str) -> None:
    nodes = {name: Node(name, "flip", inputs=(Edge(name),), connections={"vertical": Edge(name, 1)})}
    graph = Graph(nodes, (Edge(name), Edge(name, 0, "gpu"), Edge(name, 1), Edge(name, 1, "cpu")))
    assert json_file.loads(json_file.dumps(graph)) == graph


@with_each(
    "value",
    [
        math.nan,
        -math.inf,
        -0.0,
        1e300,
        2**80,
        "\ud800",
        "$x",
        b"\x00\xff",
        None,
        (),
        ((1,), (2.0, "a")),
        {"$float": 1},
        {1: 2},
        types.FLOAT16,
        types.RGB,
        types.INTERP_NN,
        np.float32(1.5),
        np.float16("inf"),
        np.int64(-3),
        np.zeros((2, 0, 3), np.int8),
        np.array([[np.nan, 1]], np.float32),
        np.arange(1000.0),
        np.array(3, np.uint64),
        np.ones(2, np.complex64),
    ],
)
def test_values_of_unknown_arguments(value: Any) -> None:
    graph = Graph({"n": Node("n", "made.up", arguments={"value": value})}, pipeline={"custom": value})
    assert json_file.loads(json_file.dumps(graph)) == graph


def test_a_constant_keeps_its_type() -> None:
    graph = Graph({"n": Node("n", "made.up", arguments={"value": types.Constant(3, types.UINT8)})})
    back = json_file.loads(json_file.dumps(graph))["n"].arguments["value"]
    assert (back.value, back.dtype) == (3, types.UINT8)


GRAPH_1 = '{"format": "dali-lab/graph", "version": 1, "nodes": '


@with_each(
    ("text", "words"),
    [
        ("", "empty"),
        ('{"format": "dali-lab/gr', "cut off"),
        (GRAPH_1 + '{"a": {"op"', "cut off"),
        ("import os", "not JSON"),
        ("[]", "not a DALI Lab graph"),
        ('{"cells": []}', "not a DALI Lab graph"),
        ('{"format": "dali-lab/graph"}', "version"),
        ('{"format": "dali-lab/graph", "version": 99}', "newer"),
        (GRAPH_1 + "NaN}", "no number NaN"),
        (GRAPH_1 + "[]}", "nodes must be an object, not a list"),
        (GRAPH_1 + '{"a": {}}}', "node 'a': op must be a text"),
        (GRAPH_1 + '{"a": {"op": "x", "inputs": [3]}}}', "3 does not name an output"),
        (GRAPH_1 + '{"a": {"op": "x"}, "a": {"op": "y"}}}', "'a' stands twice"),
        (GRAPH_1 + '{"a": {"op": "x", "arguments": {"y": {"$new": 1}}}}}', "node 'a', argument 'y'"),
        ("[" * 100_000, "nested"),
    ],
)
def test_bad_files_say_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        json_file.loads(text)


def test_a_file_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "small.dali.json"
    formats.dump(small_graph(), path)
    path.chmod(0o600)
    formats.dump(small_graph().without(["source"]), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.dali.json"]
    assert "source" not in json_file.load(path).nodes
    with pytest.raises(FormatError, match=r"it does not exist(.|\n)*missing\.json"):
        json_file.load(tmp_path / "missing.json")
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00noise")
    with pytest.raises(FormatError, match=r"UTF-8(.|\n)*noise"):
        json_file.load(tmp_path / "noise")


def test_an_older_version_is_brought_up_to_date() -> None:
    old = {
        "format": "dali-lab/graph",
        "version": 0,
        "batch_size": 3,
        "nodes": [{"id": "first", "op": "external_source"}, {"id": "second", "op": "flip", "inputs": ["first"]}],
        "outputs": ["second"],
    }
    graph = json_file.from_document(old)
    assert list(graph.nodes) == ["first", "second"]
    assert graph.pipeline == {"batch_size": 3}
    assert json_file.to_document(graph)["version"] == json_file.VERSION
    assert len(json_file.MIGRATIONS) == json_file.VERSION


def test_long_lists_of_numbers_fill_lines() -> None:
    values = tuple(-(10.0**-index) for index in range(60))
    node = Node("constant", "constant", arguments={"fdata": values})
    text = json_file.dumps(Graph({"constant": node}))
    lines = text.splitlines()
    assert len(lines) < 30 and max(map(len, lines)) <= 110
    assert json_file.loads(text)["constant"].arguments["fdata"] == values


def test_a_file_has_a_limit_of_nodes() -> None:
    nodes = {f"n{number}": {"op": "flip"} for number in range(100_001)}
    with pytest.raises(FormatError, match="the graph has more than 100,000 nodes"):
        json_file.from_document({"format": "dali-lab/graph", "version": 1, "nodes": nodes, "outputs": []})
