"""Every operator's help is complete."""

from __future__ import annotations

import ast
import inspect

from dali_lab.schema import all_operators, find_operator
from dali_lab.schema.reference import docstring
from tests.together import with_each


@with_each("name", [name for name, operator in all_operators().items() if not operator.hidden])
def test_help_is_complete(name: str) -> None:
    operator = find_operator(name)
    text = docstring(operator)
    assert text.strip()[0].isupper()
    assert "Examples" in text
    assert ":`" not in text, "marks of Sphinx, which people would read"
    assert operator.example, "an example that shows the operator at work is missing"
    ast.parse(inspect.cleandoc(operator.example).replace(">>> ", "").replace("... ", ""))
    for arg in operator.argument_table.values():
        if arg.listed:
            assert f"\n{arg.name} : " in text
            assert arg.doc, f"the argument {arg.name} has no meaning"
    assert all(repr(device) in text[text.rindex("\ndevice : ") :].split("\n")[1] for device in operator.devices)


@with_each("name", [name for name, operator in all_operators().items() if not operator.hidden])
def test_help_says_what_goes_in_and_out(name: str) -> None:
    """Inputs with their layouts, outputs, and of each argument the range, the unit and the default."""
    operator = find_operator(name)
    text = docstring(operator).split("\n\nReturns\n")[0]
    for declared in operator.inputs:
        assert declared.doc, f"the input {declared.name} has no meaning"
        assert all(repr(layout) in text for layout in declared.layouts or () if layout)
    assert all(output.doc for output in operator.outputs), "an output has no meaning"
    for arg in operator.argument_table.values():
        if not arg.listed:
            continue
        entry = text[text.rindex(f"\n{arg.name} : ") :].split("\n    ")[:2]
        assert arg.describe_range() in entry[1]
        assert arg.unit is None or f" {arg.unit}" in entry[1]
        assert all(getattr(choice, "name", repr(choice)) in entry[1] for choice in arg.choices or ())
        assert arg.required or "default" in entry[0] or "optional" in entry[0]


@with_each("name", [name for name, operator in all_operators().items() if not operator.beyond_dali])
def test_what_is_not_equal_is_said(name: str) -> None:
    operator = find_operator(name)
    if any(case.tolerance or case.fraction for case in operator.cases()):
        assert operator.differs, "cases have a tolerance, and the help does not say how far results may be apart"
