"""The structure of the package: no large circles of files, and folders that know only what lies below them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

PACKAGE = Path(__file__).parents[2] / "dali_lab"
LARGEST_CIRCLE = 4
"""Files that may import each other, counting every import: at the top, in functions and for types."""

LAYERS = (
    ("model", "kernels", "device", "codecs", "io"),
    ("schema",),
    ("graph",),
    ("operators",),
    ("conditionals", "executor"),
    ("formats", "pipeline", "auto_aug", "fn", "ops", "types", "math", "data_node", "tensors", "compat"),
    ("dynamic", "interop", "gallery", "plugin", "experimental", "checking", "packing", "plot"),
    ("studio",),
    ("cli",),
)
"""From the bottom up; folders of one layer may know each other."""

FILES = {
    ".".join(("dali_lab", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The syntax tree of a file, as a list."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, wherever it does."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            base = node.module or ""
            names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in FILES else base for alias in node.names]
        else:
            continue
        yield from (name for name in names if name in FILES)


def test_no_relative_imports() -> None:
    relative = [
        f"{name}:{node.lineno}"
        for name, path in FILES.items()
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative, "they would not be counted below"


def test_no_circle_has_more_than_four_files() -> None:
    graph = nx.DiGraph((name, other) for name, path in FILES.items() for other in imports(path) if other != name)
    circles = [sorted(circle) for circle in nx.strongly_connected_components(graph)]
    assert [circle for circle in circles if len(circle) > LARGEST_CIRCLE] == []


def _folder(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("layer", range(len(LAYERS)))
def test_imports_go_down(layer: int) -> None:
    above = {name for names in LAYERS[layer + 1 :] for name in names}
    upward = [
        f"{name} imports {other}"
        for name, path in FILES.items()
        if _folder(name) in LAYERS[layer]
        for other in imports(path)
        if _folder(other) in above
    ]
    assert upward == []


def test_operators_are_told_apart_by_traits() -> None:
    """No decision outside of `operators` hangs on an operator's name: declarations say what others need to know."""
    asking = [
        f"{name}:{node.lineno}"
        for name, path in FILES.items()
        if _folder(name) != "operators"
        for node in nodes_of(path)
        if isinstance(node, ast.Compare)
        and any(isinstance(side, ast.Attribute) and side.attr == "op" for side in (node.left, *node.comparators))
        and any(isinstance(part, ast.Constant) for side in node.comparators for part in ast.walk(side))
    ]
    assert asking == []
