"""The stub file says what the declarations say."""

from __future__ import annotations

import ast

from dali_lab.schema import stubs


def test_the_stub_file_is_up_to_date() -> None:
    assert stubs.path().read_text() == stubs.stub(), "run: python -m dali_lab.schema.stubs"


def test_the_stub_file_is_python() -> None:
    ast.parse(stubs.stub())
