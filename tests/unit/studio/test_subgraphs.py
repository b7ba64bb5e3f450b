"""Sub-graphs in a session: clients see the instance, with its problems and pictures, and never the nodes inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document, image

Json = dict[str, Any]
TURN: Json = {
    "inputs": ["images"],
    "arguments": {"angle": [{"node": "rotate", "argument": "angle"}]},
    "nodes": {
        "rotate": {"op": "rotate", "inputs": ["images"], "arguments": {"angle": 30.0}},
        "flip": {"op": "flip", "inputs": ["rotate"]},
    },
    "outputs": ["flip", "rotate"],
}


def with_turn(folder: Path | str, **nodes: Json) -> Json:
    return {**document(folder, **nodes), "subgraphs": {"turn": TURN}}


def test_an_instance_has_the_pictures_of_the_nodes_inside(folder: Path, open_session: Callable[..., Session]) -> None:
    plain: Json = {
        "rotate": {"op": "rotate", "inputs": ["decode"], "arguments": {"angle": 30.0}},
        "flip": {"op": "flip", "inputs": ["rotate"]},
    }
    flat = Client(open_session(document(folder, **plain)))
    client = Client(open_session(with_turn(folder, turn={"op": "subgraph.turn", "inputs": ["decode"]})))
    there, here = flat.preview(), client.preview(focus=[{"node": "turn", "output": 1}])
    assert set(here) == {"", "reader", "decode", "turn", "focus turn"}
    for output, node in enumerate(("flip", "rotate")):
        np.testing.assert_array_equal(image(here["turn"], 1, output), image(there[node], 1))
    assert here["turn"]["time_ms"] is not None and len(here["focus turn"]["images"]) == 4
    # A sweep of its argument, and what changes inside.
    swept = client.call("sweep", node="turn", argument="angle", values=[0.0, 90.0], run=9)
    assert all(swept["images"]) and not any(swept["errors"])
    inner = {
        **TURN,
        "nodes": {**TURN["nodes"], "flip": {"op": "flip", "inputs": ["rotate"], "arguments": {"vertical": 1}}},
    }
    client.call("edit", changes={"subgraphs": {"turn": inner}})
    changed = client.preview()
    assert not np.array_equal(image(changed["turn"], 1), image(there["flip"], 1))


def test_problems_and_errors_are_those_of_the_instance(folder: Path, open_session: Callable[..., Session]) -> None:
    session = open_session(with_turn(folder, turn={"op": "subgraph.turn"}, after={"op": "flip", "inputs": ["turn"]}))
    client = Client(session)
    (problem,) = [each for each in session.problems().problems if each.code == "unconnected"]
    assert (problem.node, problem.message, problem.input) == ("turn", "Connect images.", 0)
    seen = client.preview()
    assert seen["turn"]["skipped"]["message"] == "Connect images."
    assert seen["after"]["skipped"]["node"] == "turn"
    wrong = {"turn": {"op": "subgraph.turn", "inputs": ["decode"], "arguments": {"angle": "far"}}}
    client.call("edit", changes={"nodes": wrong})
    (problem,) = [each for each in session.problems().problems if each.severity == "error"]
    assert (problem.node, problem.argument) == ("turn", "angle") and problem.message.startswith("'rotate': ")


def test_definitions_that_contain_themselves_are_refused(folder: Path, open_session: Callable[..., Session]) -> None:
    client = Client(open_session(with_turn(folder, turn={"op": "subgraph.turn", "inputs": ["decode"]})))
    itself = {**TURN, "nodes": {**TURN["nodes"], "flip": {"op": "subgraph.turn", "inputs": ["rotate"]}}}
    assert "contains itself" in client.error("edit", changes={"subgraphs": {"turn": itself}})["message"]
    assert client.preview()["turn"]["outputs"]


def test_a_sub_graph_becomes_an_entry_of_the_gallery(
    tmp_path: Path, folder: Path, open_session: Callable[..., Session]
) -> None:
    instance = {"op": "subgraph.turn", "inputs": ["decode"], "connections": {"angle": "drawn"}}
    drawn: Json = {"op": "random.uniform", "arguments": {"range": [40.0, 50.0]}}
    given = with_turn(folder, drawn=drawn, mine=instance)
    client = Client(open_session(given, root=tmp_path))
    line = client.call("gallery.save", document=given, node="mine", title="My turn")
    assert (line["name"], line["own"], Path(line["folder"])) == ("turn", True, tmp_path / "gallery" / "turn")
    page = client.call("gallery.entry", name="turn")
    # It is used as a sub-graph, with the numbers that are drawn for it.
    assert page["fragment"] == ["drawn", "turn"] and page["before"] == "photo"
    assert page["document"]["nodes"]["turn"]["inputs"] == ["photo"]
    assert page["document"]["subgraphs"] == {"turn": {**TURN, "nodes": page["document"]["subgraphs"]["turn"]["nodes"]}}
    tile = client.call("gallery.tiles", names=["turn"])["tiles"]["turn"]
    assert tile["before"] and tile["after"] and not tile.get("problem")
    # A control of the entry's page sets the argument of the sub-graph.
    code = client.call("gallery.code", name="turn", overrides={"turn/rotate": {"angle": 12.0}})
    assert code["document"]["nodes"]["turn"]["arguments"] == {"angle": 12.0} and "def turn(" in code["code"]
    assert "already" in client.error("gallery.save", document=given, node="mine", title="My turn")["message"]
    assert "no sub-graph" in client.error("gallery.save", document=given, node="drawn", title="x")["message"]
