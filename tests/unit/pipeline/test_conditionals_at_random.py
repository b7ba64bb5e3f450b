"""Random programs of conditions: the pipeline's output for each sample equals Python's for its numbers."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab

SIZE = 16
CONDITIONS = [
    "p", "not q", "p and q", "p or not r", "a > b", "(a > 3) and (b < c)", "not (q or r)", "(p and q) or (r and not p)",
    "a == b or c > a", "flag", "flag and p", "not flag or q",
]  # fmt: skip
ASSIGNMENTS = [
    "a = a + 1", "b = a - b", "c = c + a", "a = c", "b = 7", "c, b = b, c", "a = helper(a, p)", "b = b if q else a",
    "t = a + 2\nb = t - c", "a = holder.choose(b, r)", "p = not p", "r = q",
]  # fmt: skip
HEAD = """
def helper(x, yes):
    if yes:
        return x + 10
    y = x - 1
    return y


class Holder:
    def choose(self, x, yes):
        result = x
        for step in (1, 2):
            if yes:
                result = result + step
            elif x > 2:
                result = result - step
        return result


holder = Holder()
"""


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def block(self, depth: int, indent: str, may_return: bool) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.5 or depth == 0:
                lines += [indent + line for line in self.random.choice(ASSIGNMENTS).split("\n")]
            elif kind < 0.9:
                lines += self.condition(depth, indent, may_return)
            else:
                lines.append(f"{indent}for _ in range({self.random.randint(1, 2)}):")
                lines += self.block(depth - 1, indent + "    ", False)
        if may_return and self.random.random() < 0.25:
            lines.append(f"{indent}return {self.random.choice(['a, b, c', 'c, a + 1, b', 'b, b, a'])}")
        return lines

    def condition(self, depth: int, indent: str, may_return: bool) -> list[str]:
        inner = indent + "    "
        lines = [f"{indent}if {self.random.choice(CONDITIONS)}:", *self.block(depth - 1, inner, may_return)]
        if self.random.random() < 0.4:
            lines += [f"{indent}elif {self.random.choice(CONDITIONS)}:", *self.block(depth - 1, inner, may_return)]
        if self.random.random() < 0.6:
            lines += [f"{indent}else:", *self.block(depth - 1, inner, may_return)]
        return lines

    def program(self) -> str:
        lines = ["def program(a, b, c, p, q, r, flag):", *self.block(3, "    ", True), "    return a, b, c"]
        return HEAD + "\n\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_like_python(seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"program_{seed}.py"
    path.write_text(_Writer(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.program
    rng = np.random.default_rng(seed)
    numbers = [rng.integers(0, 8, SIZE).astype(np.int32) for _ in range(3)]
    flags = [rng.integers(0, 2, SIZE).astype(bool) for _ in range(3)]
    flag = bool(seed % 2)

    @dali_lab.pipeline_def(batch_size=SIZE, num_threads=2, enable_conditionals=True)
    def pipeline() -> Any:
        nodes = [dali_lab.fn.external_source(source=[data]) for data in (*numbers, *flags)]
        return program(*nodes, flag)

    got = [np.asarray(out.as_array()) for out in pipeline().run()]
    for index in range(SIZE):
        values = [int(data[index]) for data in numbers] + [bool(data[index]) for data in flags]
        expected = program(*values, flag)
        assert tuple(int(out[index]) for out in got) == tuple(map(int, expected)), path.read_text()
