"""The operators inside a fused one, made from the descriptions of their nodes by a pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError
from dali_lab.schema import Arg, Call, Operator, find_operator, string

STANDS_FOR = string("stands_for", "", "The node that was cut in two.")


@contextmanager
def naming_in_errors(node: str, operator: str) -> Iterator[None]:
    """Let errors name the node and the operator that were cut in two."""
    try:
        yield
    except DaliLabError as error:
        error.node, error.operator = node or error.node, operator
        raise


@contextmanager
def naming_parts_in_errors(parts: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Make errors about a part name the user's line of its node."""
    try:
        yield
    except DaliLabError as error:
        for part in parts:
            if part["node"] == error.node:
                error.origin = error.origin or part["origin"]
        raise


class Chain(Operator):
    """An operator for a chain, each part of which takes the first output of the one before it.

    Its argument `parts` is what :func:`dali_lab.graph.passes.matching.described` gives; of connected arguments
    ``"1.hue"`` is the argument of the second part.
    """

    hidden = True
    on_gpu = True
    arguments = (Arg("parts", "object"),)

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        super().__init__(values, connected, node, device)
        names = [name.partition(".") for name in self.connected]
        self.operators: list[Operator] = []
        for index, part in enumerate(values["parts"]):
            mine = [argument for number, _, argument in names if number == str(index)]
            self.operators.append(find_operator(part["op"])(part["arguments"], mine, part["node"], device))

    def run(self, call: Call, data: Batch) -> Batch:
        with naming_parts_in_errors(self.values["parts"]):
            return self.run_fused(call, data)

    def run_fused(self, call: Call, data: Batch) -> Batch:
        """Run all parts, in one pass where there is a kernel for the data."""
        raise NotImplementedError

    def calls(self, call: Call) -> list[Call]:
        """The call for each of the operators."""
        result = []
        for index, operator in enumerate(self.operators):
            batches = {
                name.partition(".")[2]: batch for name, batch in call.batches.items() if name.startswith(f"{index}.")
            }
            result.append(replace(call, operator=operator, batches=batches))
        return result

    def in_turn(self, call: Call, data: Batch) -> Batch:
        """Run the operators one after the other."""
        from dali_lab.schema.running import run_operator

        calls = self.calls(call)
        for index, (operator, its_call) in enumerate(zip(self.operators, calls, strict=True)):
            inner = its_call if index == len(calls) - 1 else replace(its_call, place=None)
            (data,) = run_operator(operator, inner, [data], 1)
        return data
