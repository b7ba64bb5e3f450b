"""Every operator's help is complete, and what is missing says what it waits for."""

from __future__ import annotations

import ast
import inspect

import pytest

from dali_lab import fn
from dali_lab.errors import GraphError
from dali_lab.schema import all_operators, find_operator
from dali_lab.schema.reference import docstring
from dali_lab.schema.waiting import WAITING


@pytest.mark.parametrize("name", [name for name, operator in all_operators().items() if not operator.hidden])
def test_help_is_complete(name: str) -> None:
    operator = find_operator(name)
    text = docstring(operator)
    assert text.strip()[0].isupper()
    assert "Examples" in text
    assert operator.example, "an example that shows the operator at work is missing"
    ast.parse(inspect.cleandoc(operator.example).replace(">>> ", "").replace("... ", ""))
    for arg in operator.argument_table.values():
        if arg.listed:
            assert f"\n{arg.name} : " in text
            assert arg.doc, f"the argument {arg.name} has no meaning"


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_says_so(name: str) -> None:
    with pytest.raises(GraphError, match="not in this release"):
        find_operator(name)
    module = fn
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part, None)
    if module is not None and name not in ("experimental.decoders.video",):
        with pytest.raises(AttributeError, match="not in this release"):
            getattr(module, last)
