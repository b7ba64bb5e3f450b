"""Arguments of steps in other libraries: constants, and draws from a range, from a list, or by a coin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.registry import find_operator

_PASSED_ON = ("cast",)


class NoEquivalent(ValueError):
    """Why a node cannot be written; ``{}`` in the text is the name of the library."""


@dataclass(frozen=True)
class Range:
    """A number drawn evenly from `low` to `high`, anew for each sample; a constant where both are equal."""

    low: float
    high: float

    @property
    def constant(self) -> bool:
        """Whether every sample has the same number."""
        return self.low == self.high

    def mapped(self, change: Callable[[float], float]) -> Range:
        """The range of a monotonous function of the number, rounded to what floats of DALI hold."""
        ends = sorted(float(f"{change(end):.9g}") for end in (self.low, self.high))
        return Range(ends[0], ends[1])


@dataclass(frozen=True)
class Choice:
    """One of several numbers, each as likely as the others."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Coin:
    """1 with this probability, else 0."""

    probability: float


Draw = Range | Choice | Coin


@dataclass(frozen=True)
class Reading:
    """A node with its arguments and the random nodes connected to them."""

    graph: Graph
    node: Node

    def value(self, name: str) -> Any:
        """A constant argument, or its default."""
        if name in self.node.connections:
            raise NoEquivalent(f"the argument '{name}' comes from a node")
        arg = find_operator(self.node.op).argument_table[name]
        found = self.node.arguments.get(name)
        return found if found is not None else (None if arg.required else arg.default)

    def given(self, name: str) -> bool:
        """Whether an argument is a constant or connected, and a constant is not the default."""
        if name in self.node.connections:
            return True
        arg = find_operator(self.node.op).argument_table.get(name)
        value = self.node.arguments.get(name)
        return value is not None and (arg is None or arg.required or value != arg.default)

    def only(self, *names: str) -> None:
        """Refuse all other arguments."""
        ignored = {"name", "preserve", "seed", "bytes_per_sample_hint", *names}
        for name in (*self.node.arguments, *self.node.connections):
            if name not in ignored and self.given(name):
                arg = find_operator(self.node.op).argument_table.get(name)
                if arg is not None and arg.advanced:
                    continue
                raise NoEquivalent(f"{{}} has no argument like '{name}'")

    def draw(self, name: str, default: float) -> Draw:
        """The way in which a number is drawn."""
        edge = self.node.connections.get(name)
        if edge is not None:
            return drawn(self.graph, edge, f"the argument '{name}'")
        value = self.value(name)
        value = default if value is None else value
        if isinstance(value, (tuple, list)):
            if len(set(value)) > 1:
                raise NoEquivalent(f"{{}} takes one number for '{name}'")
            value = value[0] if value else default
        return Range(float(value), float(value))

    def range(self, name: str, default: float) -> Range:
        """A range that a number is drawn from."""
        found = self.draw(name, default)
        if not isinstance(found, Range):
            raise NoEquivalent(f"the argument '{name}' is chosen from a list, and {{}} draws it from a range")
        return found

    def chance(self, name: str) -> float:
        """The probability of a flag."""
        found = self.draw(name, 0.0)
        if isinstance(found, Coin):
            return found.probability
        if isinstance(found, Range) and found.constant:
            return 1.0 if found.low else 0.0
        raise NoEquivalent(f"the flag '{name}' is decided by no coin")


def drawn(graph: Graph, edge: Edge, subject: str) -> Draw:
    """The way in which an edge of random numbers is drawn.

    Raises
    ------
    NoEquivalent
        If it is no draw of one number that other libraries make.
    """
    source = graph.nodes[edge.node]
    while source.op in _PASSED_ON:
        source = graph.nodes[source.inputs[0].node]
    if source.connections or source.inputs or source.op not in _DRAWS:
        raise NoEquivalent(f"{subject} comes from {source.op}, where {{}} draws it itself")
    if source.arguments.get("shape") not in (None, (), (1,)):
        raise NoEquivalent(f"{subject} has several numbers")
    return _DRAWS[source.op](source)


def drawn_pair(graph: Graph, edge: Edge) -> Range | None:
    """The range that two numbers are drawn from evenly, if that is how an edge is drawn."""
    source = graph.nodes[edge.node]
    draw = _DRAWS.get(source.op)
    if draw is None or source.arguments.get("shape") != (2,):
        return None
    found = draw(source)
    return found if isinstance(found, Range) else None


def _uniform(node: Node) -> Draw:
    values = node.arguments.get("values")
    if values is not None:
        return Choice(tuple(map(float, values)))
    low, high = node.arguments.get("range", (-1.0, 1.0))
    return Range(float(low), float(high))


def _coin(node: Node) -> Draw:
    chance = node.arguments.get("probability", 0.5)
    return Coin(float(chance[0] if isinstance(chance, tuple) else chance))


_DRAWS: dict[str, Callable[[Node], Draw]] = {"random.uniform": _uniform, "random.coin_flip": _coin}


def probability(graph: Graph, edge: Edge) -> float:
    """The probability with which a condition holds: a coin, or a comparison of a number from 0 to 1.

    Raises
    ------
    NoEquivalent
        If it depends on anything else.
    """
    node = graph.nodes[edge.node]
    while node.op in _PASSED_ON:
        edge = node.inputs[0]
        node = graph.nodes[edge.node]
    if node.op in _BELOW | _ABOVE and len(node.inputs) == 1 and {"a", "b"} & set(node.arguments):
        found = drawn(graph, node.inputs[0], "the condition")
        bound = node.arguments.get("b", node.arguments.get("a"))
        if isinstance(found, Range) and isinstance(bound, (int, float)) and not found.constant:
            share = min(1.0, max(0.0, (bound - found.low) / (found.high - found.low)))
            below = (node.op in _BELOW) == ("b" in node.arguments)
            return float(f"{share if below else 1 - share:.9g}")
    elif node.op in _DRAWS:
        found = drawn(graph, edge, "the condition")
        if isinstance(found, Coin):
            return found.probability
    raise NoEquivalent("the condition is no coin")


_BELOW = frozenset({"math.lt", "math.leq"})
_ABOVE = frozenset({"math.gt", "math.geq"})
