"""JSON with odd values at any depth."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

_VALUES: tuple[Any, ...] = (
    None, True, "", "x", [], {}, [[]], -1, 0, 1.5, 1e308, -1e308, float("nan"), float("inf"), 1 << 31, 1 << 63,
    1 << 64, -(1 << 63) - 1, 10**40, [1] * 300, [1e300] * 6, "\0", "\ud800", "../" * 20, "a" * 5000,
    {"counts": "a", "size": [1, 1]}, {"counts": [1 << 40], "size": [1 << 31, 1 << 31]}, {"size": [3, 3]},
)  # fmt: skip


def json_tree(content: bytes, chance: random.Random) -> bytes:
    """JSON with values replaced at any depth; a text that is none stays."""
    try:
        tree = json.loads(content)
    except ValueError:
        return content
    for _ in range(chance.choice((1, 1, 2, 4))):
        tree = _changed(tree, chance)
    text = json.dumps(tree)
    if chance.random() < 0.1:
        text = text.replace("1", chance.choice(("01", "1e400", "-0", "1.", "1" * 5000)), 1)
    return text.encode(errors="surrogatepass")


def _changed(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, (dict, list)) and tree and chance.random() < 0.93:
        keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = chance.choice(keys)
        kind = chance.random()
        if kind < 0.05:
            del tree[key]
        elif kind < 0.1 and isinstance(tree, dict):
            tree[chance.choice(("", "id", "x" * 300, "$array", "\ud800"))] = tree.pop(key)
        elif kind < 0.15 and isinstance(tree, list):
            tree.append(copy.deepcopy(tree[key]))
        else:
            tree[key] = _changed(tree[key], chance)
        return tree
    deep: Any = copy.deepcopy(chance.choice(_VALUES))
    if chance.random() < 0.05:
        for _ in range(chance.choice((20, 300))):
            deep = [deep]
    return deep


def json_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    which = chance.randrange(len(lines))
    lines[which] = json_tree(lines[which], chance)
    return b"\n".join(lines)
