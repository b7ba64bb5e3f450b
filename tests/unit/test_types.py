"""Parameters of any type: how many there may be. The figures only go down."""

from __future__ import annotations

import ast
from pathlib import Path

import dali_lab

ROOT = Path(dali_lab.__file__).parent
MOST = 0.035
MOST_IN_STUDIO = 0.016


def share_of_any(folder: Path) -> float:
    """The share of parameters that are annotated as bare `Any`."""
    bare = every = 0
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                annotations = [one.annotation for one in parameters if one is not None and one.annotation is not None]
                every += len(annotations)
                bare += sum(isinstance(one, ast.Name) and one.id == "Any" for one in annotations)
    return bare / every


def test_few_parameters_take_anything() -> None:
    assert share_of_any(ROOT) <= MOST
    assert share_of_any(ROOT / "studio") <= MOST_IN_STUDIO
