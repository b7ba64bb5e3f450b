"""The declarations of messages: both sides have the same, and the session's messages match them."""

from __future__ import annotations

import msgspec
import pytest

from dali_lab.studio.catalogue import catalogue
from dali_lab.studio.protocol.catalogue import CatalogueData
from dali_lab.studio.protocol.methods import METHODS
from dali_lab.studio.protocol.typescript import TARGET, text
from dali_lab.studio.requests import HANDLERS
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client


def test_the_types_of_the_editor_are_those_of_the_session() -> None:
    assert TARGET.read_text("utf-8") == text(), "run: python -m dali_lab.studio.protocol.typescript"


def test_every_method_has_a_handler_and_none_is_undeclared() -> None:
    assert HANDLERS.keys() == METHODS.keys()


def test_the_catalogue_is_as_declared() -> None:
    found = catalogue()
    assert msgspec.json.decode(msgspec.json.encode(found), type=CatalogueData) == found


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("preview", {"run": "x"}, "run"),
        ("preview", {"run": 1, "focus": [{"node": 3}]}, "focus[0].node"),
        ("edit", {"changes": {"patches": {"rotate": {"unset": "op"}}}}, "changes.patches"),
        ("save", {"path": 7}, "path"),
        ("sweep", {"node": "a", "argument": "b"}, "values"),
        ("gallery.draw", {"variants": [{"seed": "one"}]}, "variants[0].seed"),
    ],
)
def test_a_request_that_makes_no_sense_names_the_field(method: str, params: dict[str, object], field: str) -> None:
    session = Session()
    try:
        error = Client(session).error(method, **params)
    finally:
        session.close()
    assert error["code"] == "failed" and field in error["message"]
