"""Operators inside of a fused one, made from what a pass wrote down of their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError
from dali_lab.schema import Call, Operator, find_operator


@contextmanager
def told_of(parts: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Give errors about one of the parts the line where a person placed it."""
    try:
        yield
    except DaliLabError as error:
        for part in parts:
            if part["node"] == error.node:
                error.origin = error.origin or part["origin"]
        raise


class Parts:
    """The operators that a fused one stands for.

    Parameters
    ----------
    parts
        See :func:`dali_lab.graph.passes.matching.described`.
    connected
        Names of connected arguments: ``"1.hue"`` is the argument of the second.
    device
        Placement of all.
    """

    def __init__(self, parts: Sequence[Mapping[str, Any]], connected: Iterable[str], device: str) -> None:
        names = [name.partition(".") for name in connected]
        self.operators: list[Operator] = []
        for index, part in enumerate(parts):
            mine = [argument for number, _, argument in names if number == str(index)]
            self.operators.append(find_operator(part["op"])(part["arguments"], mine, part["node"], device))

    def calls(self, call: Call) -> list[Call]:
        """The call as each of the operators sees it."""
        result = []
        for index, operator in enumerate(self.operators):
            batches = {
                name.partition(".")[2]: batch for name, batch in call.batches.items() if name.startswith(f"{index}.")
            }
            result.append(replace(call, operator=operator, batches=batches))
        return result

    def in_turn(self, call: Call, data: Batch) -> Batch:
        """What the operators give one after the other, each for the first output of the one before it."""
        from dali_lab.schema.running import run_operator

        calls = self.calls(call)
        for index, (operator, its_call) in enumerate(zip(self.operators, calls, strict=True)):
            inner = its_call if index == len(calls) - 1 else replace(its_call, place=None)
            (data,) = run_operator(operator, inner, [data], 1)
        return data
