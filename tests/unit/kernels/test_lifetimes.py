"""Numba frees a local array behind the last line that names it: its address must not be in use any longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dali_lab.kernels.cpu

KERNELS = Path(dali_lab.kernels.cpu.__file__).parent
LOOPS = (ast.For, ast.While)


def compiled(module: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            decorators = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
            if decorators & {"kernel", "fast_kernel", "part", "inner_part"}:
                yield node


def dangling(function: ast.FunctionDef) -> list[int]:
    """Lines that take the address of a local array which nothing keeps behind them."""
    loops = [node for node in ast.walk(function) if isinstance(node, LOOPS)]

    def around(line: int) -> set[int]:
        return {loop.lineno for loop in loops if loop.lineno < line <= (loop.end_lineno or line)}

    made: dict[str, set[int]] = {}  # by calls; what is taken from an argument is kept by the caller
    used: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Call) for each in ast.walk(node.value)):
            stored = (each for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))
            names = (each.id for each in stored if isinstance(each.ctx, ast.Store))
            made.update((name, around(node.lineno)) for name in names if name not in made)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = max(used.get(node.id, 0), node.lineno)
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    found = []
    for node in ast.walk(function):
        if not (isinstance(node, ast.Attribute) and node.attr == "ctypes"):
            continue
        array = node.value
        while isinstance(array, ast.Subscript):
            array = array.value
        if isinstance(array, ast.Name):
            end = min(
                (each.end_lineno or 0 for each in statements if each.lineno <= node.lineno <= (each.end_lineno or 0)),
            )
            # In a loop that does not make it anew, the array is kept up to the loop's end.
            kept = array.id not in made or around(node.lineno) > made[array.id] or used[array.id] > end
        else:
            kept = False
        if not kept:
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.py")), ids=lambda path: path.stem)
def test_local_arrays_are_kept_while_their_addresses_are_in_use(path: Path) -> None:
    for function in compiled(ast.parse(path.read_text("utf-8"))):
        lines = dangling(function)
        assert not lines, f"{path.name}: {function.name}, line {lines}: an array is freed while its address is in use"


def test_a_dangling_address_is_found() -> None:
    text = "def f(n):\n    a = np.empty(n)\n    at = a.ctypes.data\n    for k in range(n):\n        use(at + k)\n"
    function = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    assert dangling(function) == [3]
    kept = next(node for node in ast.walk(ast.parse(text + "    keep(a)\n")) if isinstance(node, ast.FunctionDef))
    assert dangling(kept) == []
