"""Problems and errors carry codes, so that programs need not read their sentences."""

from __future__ import annotations

import pickle

import pytest

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.verification import problems, verify
from dali_lab.model.errors import ArgumentError, FormatError, GraphError, UnknownArgumentError

READER = Node("files", "readers.file", arguments={"file_root": "/data"})


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (Node("a", "nothing"), "operator_unknown"),
        (Node("a", "readers.file", "gpu", arguments={"file_root": "/"}), "device_unsupported"),
        (Node("a", "flip"), "input_count"),
        (Node("a", "flip", inputs=(Edge("gone"),)), "node_missing"),
        (Node("a", "flip", inputs=(Edge(""),)), "unconnected"),
        (Node("a", "flip", inputs=(Edge("files", 7),)), "output_missing"),
        (Node("a", "flip", inputs=(Edge("a"),)), "circle"),
        (Node("a", "flip", inputs=(Edge("files"),), arguments={"angle": 1.0}), "argument_unknown"),
        (Node("a", "flip", inputs=(Edge("files"),), arguments={"vertical": "up"}), "argument_type"),
        (Node("a", "cast", inputs=(Edge("files"),)), "argument_missing"),
        (
            Node("a", "resize", inputs=(Edge("files"),), connections={"subpixel_scale": Edge("files")}),
            "argument_constant",
        ),
    ],
)
def test_each_problem_has_its_code(node: Node, code: str) -> None:
    graph = Graph({"files": READER, "a": node}, (Edge("a"),))
    found = [problem for problem in problems(graph) if problem.code == code]
    assert [problem.node for problem in found] == ["a"]
    assert [problem.absent for problem in found] == ["gone" if code == "node_missing" else None]
    with pytest.raises(GraphError) as raised:
        verify(graph)
    assert raised.value.code == problems(graph)[0].code


def test_codes_come_from_classes_and_travel_between_processes() -> None:
    assert FormatError("damaged").code == "file_invalid"
    assert UnknownArgumentError("no such").code == "argument_unknown"
    error = pickle.loads(pickle.dumps(ArgumentError("must be given", argument="size", code="argument_missing")))
    assert (error.code, error.argument) == ("argument_missing", "size")
