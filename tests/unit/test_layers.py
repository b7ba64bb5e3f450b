"""Imports go down the layers that CONTRIBUTING.md lists."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import dali_lab

PACKAGE = Path(dali_lab.__file__).parent
GUIDE = PACKAGE.parent / "CONTRIBUTING.md"

WHEN_CALLED = {
    ("types", "constants"): "types.Constant gives a node while a pipeline is defined",
    ("schema", "graph"): "fn.NAME() records a call in the graph that is traced",
    ("schema", "operators"): "the registry imports all operators when somebody first asks for one",
    ("graph", "operators"): "expressions name their operands as the operator does",
    ("graph", "pipeline"): "tracing asks for the pipeline that is being defined",
    ("graph", "formats"): "notebooks show a graph as a picture, differences show values as pictures do",
    ("operators", "executor"): "fused operators run those that they stand for where no kernel fits",
    ("_pipeline", "formats"): "pipelines write and read themselves",
}


def layers() -> dict[str, int]:
    """The layer of each module or package in ``dali_lab``, 1 at the bottom."""
    section = GUIDE.read_text().split("\n## Layers\n")[1].split("\n## ")[0]
    lines = re.findall(r"^(\d+)\. ([^:]*):", section, re.MULTILINE)
    return {name: int(number) for number, names in lines for name in re.findall(r"`(\w+)`", names)}


def part(module: str) -> str:
    """The module or package in ``dali_lab`` that a module belongs to."""
    return (module.split(".")[1:] or ["dali_lab"])[0]


def imports(tree: ast.AST, called: bool = False) -> Iterator[tuple[str, bool]]:
    """Modules of ``dali_lab`` that a text imports, and whether only when a function is called; not those for types."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        inside = called or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        found: list[str] = []
        if isinstance(child, ast.Import):
            found = [name.name for name in child.names]
        elif isinstance(child, ast.ImportFrom):
            module = child.module or ""
            # ``from dali_lab import x`` has a module of that name, or what ``dali_lab`` itself offers.
            found = [f"{module}.{name.name}" for name in child.names] if module == "dali_lab" else [module]
        for name in found:
            if name.split(".")[0] == "dali_lab":
                yield name, inside
        yield from imports(child, inside)


@functools.cache
def arrows() -> list[tuple[str, str, str, bool]]:
    """Each import: the file, the part that it is in, the part that it names, and whether it waits for a call."""
    known, found = layers(), []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        own = part(".".join(["dali_lab", *place.with_suffix("").parts]).removesuffix(".__init__"))
        for name, called in imports(ast.parse(path.read_text())):
            target = part(name)
            found.append((str(place), own, target if target in known else "dali_lab", called))
    return found


def test_every_part_has_a_layer() -> None:
    parts = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    parts |= {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert set(layers()) == parts | {"dali_lab"}


def test_imports_go_down() -> None:
    known = layers()
    up = {
        f"{file} imports {target}"
        for file, own, target, called in arrows()
        if known[target] > known[own] and not (called and (own, target) in WHEN_CALLED)
    }
    assert not up


def test_exceptions_are_needed() -> None:
    known = layers()
    assert {(own, target) for _, own, target, _ in arrows() if known[target] > known[own]} == set(WHEN_CALLED)
