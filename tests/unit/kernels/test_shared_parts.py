"""Kernels are compiled again when a part of another file that they compile in has changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dali_lab.kernels.cpu import memory

_FOLDER = Path(memory.__file__).parent
_PACKAGE = "dali_lab.kernels.cpu"
_COMPILED = {"kernel", "fast_kernel", "part", "inner_part", "variants", "emitted"}


def _compiled_in(path: Path) -> Iterator[str]:
    """The other files, or the folder of machine code, whose names stand in what is compiled of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    files = {
        name.asname or name.name: "machine" if module.startswith("machine") else f"{module}.py"
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith(f"{_PACKAGE}.")
        for module in [statement.module.removeprefix(f"{_PACKAGE}.")]
        for name in statement.names
    }
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        makers = {name.id for each in function.decorator_list for name in ast.walk(each) if isinstance(name, ast.Name)}
        if makers & _COMPILED:
            names = {name.id for line in function.body for name in ast.walk(line) if isinstance(name, ast.Name)}
            yield from (file for name, file in files.items() if name in names)


def test_all_files_with_parts_of_others_are_listed() -> None:
    assert {file for path in _FOLDER.glob("*.py") for file in _compiled_in(path)} == set(memory._SHARED_PARTS)
