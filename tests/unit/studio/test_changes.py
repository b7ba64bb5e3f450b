"""Changes as editors send them: entry by entry, and refused where they make no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dali_lab.studio.document.changes import applied, changes_meaning, read_changes
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.errors import DocumentError


def document() -> dict[str, Any]:
    rotate = {"op": "rotate", "device": "cpu", "inputs": ["decode"], "arguments": {"angle": 3, "fill_value": 256.0}}
    nodes = {"decode": {"op": "decoders.image"}, "rotate": rotate, "flip": {"op": "flip", "inputs": ["rotate"]}}
    return checked({"nodes": nodes, "outputs": ["flip"]})


def test_two_editors_change_two_arguments_of_one_node() -> None:
    one = {"patches": {"rotate": {"arguments": {"set": {"angle": 7}}}}}
    two = {"patches": {"rotate": {"arguments": {"set": {"keep_size": True}}}}}
    for order in ((one, two), (two, one)):
        result = document()
        for changes in order:
            result = applied(result, read_changes(changes))
        assert result["nodes"]["rotate"]["arguments"] == {"angle": 7, "fill_value": 256.0, "keep_size": True}


def test_two_editors_change_two_settings_of_the_pipeline() -> None:
    before = document()["pipeline"]
    result = document()
    for changes in ({"set": {"seed": 99}}, {"set": {"batch_size": 3}, "unset": ["device_id"]}):
        result = applied(result, read_changes({"pipeline": changes}))
    kept = {name: value for name, value in before.items() if name != "device_id"}
    assert result["pipeline"] == {**kept, "seed": 99, "batch_size": 3}


def test_what_is_not_named_keeps_its_text() -> None:
    before = document()
    after = applied(before, read_changes({"patches": {"rotate": {"arguments": {"set": {"angle": 7}}}}}))
    assert after["nodes"]["decode"] is before["nodes"]["decode"]
    assert "256.0" in json.dumps(after["nodes"]["rotate"])
    assert before["nodes"]["rotate"]["arguments"]["angle"] == 3, "documents are never altered in place"


def test_entries_go_come_and_keep_their_order() -> None:
    patch = {
        "set": {"inputs": [], "custom": {"a": 1}},
        "unset": ["device"],
        "arguments": {"set": {"axis": [0, 1]}, "unset": ["angle"], "order": ["axis", "fill_value"]},
        "connections": {"set": {"angle": "decode"}},
    }
    rotate = applied(document(), read_changes({"patches": {"rotate": patch}}))["nodes"]["rotate"]
    assert "device" not in rotate and rotate["inputs"] == [] and rotate["custom"] == {"a": 1}
    assert list(rotate["arguments"].items()) == [("axis", [0, 1]), ("fill_value", 256.0)]
    assert rotate["connections"] == {"angle": "decode"}


def test_a_patch_of_a_node_that_is_gone_is_passed_over() -> None:
    after = applied(document(), read_changes({"patches": {"nobody": {"arguments": {"set": {"angle": 1}}}}}))
    assert after["nodes"] == document()["nodes"]
    assert changes_meaning(read_changes({"patches": {}}), document())


@pytest.mark.parametrize(
    "changes",
    [
        None,
        {"patches": []},
        {"patches": {"rotate": 3}},
        {"patches": {"rotate": {"set": []}}},
        {"patches": {"rotate": {"unset": "op"}}},
        {"patches": {"rotate": {"unset": ["op"]}}},
        {"patches": {"rotate": {"set": {"inputs": [3]}}}},
        {"patches": {"rotate": {"arguments": {"order": 3}}}},
        {"order": "rotate"},
    ],
)
def test_changes_that_make_no_sense_are_refused(changes: Any) -> None:
    with pytest.raises(DocumentError):
        applied(document(), read_changes(changes))
