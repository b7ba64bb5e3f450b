"""Generated files say what the declarations say."""

from __future__ import annotations

import ast

import pytest

from dali_lab.schema import stubs


@pytest.mark.parametrize("file", stubs.FILES)
def test_generated_files_are_up_to_date(file: str) -> None:
    text = stubs.path(file).read_text()
    ast.parse(text)
    assert text == stubs.FILES[file](), "run: python -m dali_lab.schema.stubs"
