"""Functions serialized by their code are restored unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dali_lab.executor.sources import pickling


def made(size: int) -> Callable[..., list[Any]]:
    def rows(count: int, *, value: int = 7) -> list[Any]:
        return [] if not count else [[value] * size, *rows(count - 1, value=value)]

    return rows


def test_a_closure_may_refer_to_itself() -> None:
    sent = pickling.loads(pickling.dumps(made(2)))
    assert sent(2) == [[7, 7], [7, 7]]
    assert sent(1, value=1) == [[1, 1]]


def test_defaults_and_variables_without_a_value_travel_along() -> None:
    def outer(scale: int = 3) -> Any:
        if scale < 0:
            late = scale
        return lambda x=2: (x * scale, late)

    sent = pickling.loads(pickling.dumps(outer()))
    assert sent.__defaults__ == (2,)
    assert sent.__closure__[sent.__code__.co_freevars.index("scale")].cell_contents == 3
