"""The body of an exported pipeline function: one line a node, with names that tracing finds again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dali_lab.formats.python_expressions import ATOM, Expression, expression, is_expression, operand_count
from dali_lab.formats.python_layout import WIDTH, Imports, Piece, call, flat, free, lines, listing, quoted, value_piece
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.graph.meaning import meaningful_arguments
from dali_lab.graph.naming import is_reserved, node_name
from dali_lab.schema.arguments import Arg
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator

_LONGEST = 25
_INDENT = 4


class Statements:
    """Writes the nodes of a graph as assignments.

    Parameters
    ----------
    graph
        A finished graph.
    imports
        Collects what the program needs.
    exact
        Keep the names of all nodes; otherwise those of expressions may be lost.
    """

    def __init__(self, graph: Graph, imports: Imports, *, exact: bool) -> None:
        self.graph = graph
        self.imports = imports
        self.exact = exact
        self.order = graph.order()
        self.uses = operand_count(graph.nodes, graph.outputs)
        self.used = {(edge.node, edge.output) for edge in self._edges()}
        self._reserve_objects()
        self.variables = {name: self._variables(graph.nodes[name]) for name in self.order}
        self.inlined = {name for name in self.order if self._may_inline(name)}
        self.named: set[str] = {name for name in self.order if self._wants_name(graph.nodes[name])}
        self._settle()

    def _edges(self) -> list[Edge]:
        return [*self.graph.outputs, *(edge for node in self.graph.nodes.values() for edge in node.edges())]

    def _reserve_objects(self) -> None:
        """Give imported objects their names first, so that variables step aside."""
        for node in self.graph.nodes.values():
            for value in node.arguments.values():
                value_piece(value, self.imports, _identifier(node.id))

    def _variables(self, node: Node) -> tuple[str, ...]:
        operator = find_operator(node.op)
        count = operator.count_outputs(node.arguments, len(node.inputs))
        plain = _identifier(node.id)
        # A reader's outputs are called after what they hold, and the reader keeps its name by `name=`.
        reader = count in (2, 3) and operator.source and node.op.startswith("readers.")
        taken = self.imports.taken
        if count == 0:
            return ()
        first = free(_safe(_output_name(operator, plain, 0) if reader else plain, taken), taken)
        if count not in (2, 3):
            return (first,)
        rest = [free(_safe(_output_name(operator, plain, index), taken), taken) for index in range(1, count)]
        unused = [(node.id, index) not in self.used and (index > 0 or reader) for index in range(count)]
        return tuple("_" if gone else name for name, gone in zip((first, *rest), unused, strict=True))

    def _may_inline(self, name: str) -> bool:
        """Whether a node is a part of one other expression, with a name that nobody chose."""
        node = self.graph.nodes[name]
        if not node.op.startswith("math.") or self.uses[name] != 1:
            return False
        consumer = next((n for n in self.graph.nodes.values() if any(e.node == name for e in n.inputs)), None)
        if consumer is None or not consumer.op.startswith("math.") or consumer.device != node.device:
            return False
        auto = node.op.rsplit(".", 1)[-1].strip("_")
        return not self.exact or re.fullmatch(rf"{re.escape(auto)}(_\d+)?", name) is not None

    def _wants_name(self, node: Node) -> bool:
        operator = find_operator(node.op)
        return (
            operator.source
            and node.op.startswith("readers.")
            and operator.count_outputs(node.arguments, len(node.inputs)) in (2, 3)
        )

    def _settle(self) -> None:
        """Write nodes on lines of their own, or name them, until tracing would give each its own name."""
        for _ in range(len(self.order) + 2):
            if wide := {name for name in self.order if name not in self.inlined and self._too_wide(name)}:
                self.inlined -= {edge.node for name in wide for edge in self.graph.nodes[name].inputs}
            wrong = {name for name, given in self._traced_names().items() if given != name}
            unlined = wrong & self.inlined
            if unlined:
                self.inlined -= unlined
            elif wrong - self.named:
                self.named |= wrong
            else:
                return

    def _too_wide(self, name: str) -> bool:
        inputs = {edge.node for edge in self.graph.nodes[name].inputs}
        return (
            bool(inputs & self.inlined) and len(f"    {self.variables[name][0]} = {flat(self._right(name)[0])}") > WIDTH
        )

    def _call_order(self) -> list[str]:
        result: list[str] = []

        def place(name: str) -> None:
            for edge in self.graph.nodes[name].inputs:
                if edge.node in self.inlined:
                    place(edge.node)
            result.append(name)

        for name in self.order:
            if name not in self.inlined:
                place(name)
        return result

    def _traced_names(self) -> dict[str, str]:
        """What tracing would call each node."""
        order = self._call_order()
        explicit = {name for name in order if name in self.named and self._takes_name(name)}
        taken: dict[str, Any] = dict.fromkeys(explicit)
        result = {}
        for name in order:
            if name in explicit:
                result[name] = name
                continue
            node = self.graph.nodes[name]
            wanted = "" if name in self.inlined else node_name(self.variables[name])
            result[name] = unique_name(wanted or node.op.rsplit(".", 1)[-1].strip("_"), taken)
            taken[result[name]] = None
        return result

    def _takes_name(self, name: str) -> bool:
        return self.exact or not is_expression(self.graph.nodes[name])

    def output_names(self) -> list[str]:
        """A name for each output of the graph."""
        taken: set[str] = set()
        result = []
        for edge in self.graph.outputs:
            variables = self.variables[edge.node]
            name = variables[edge.output] if edge.output < len(variables) else f"{variables[0]}_{edge.output}"
            plain = node_name((name,)) or "output"
            result.append(free(plain if not is_reserved(plain) else f"{plain}_", taken))
        return result

    def lines(self) -> list[str]:
        """The assignments."""
        result = []
        for name in self.order:
            if name in self.inlined:
                continue
            piece, _ = self._right(name)
            variables = self.variables[name]
            # An external source that was told its number of outputs gives a list, even of one.
            alone = len(variables) == 1 and self.graph.nodes[name].arguments.get("num_outputs") == 1
            left = f"({variables[0]},)" if alone else ", ".join(variables)
            left = f"{left} = " if self.uses[name] or len(variables) > 1 else ""
            result += lines(left, piece, indent=_INDENT)
        return result

    def returned(self) -> list[str]:
        """The return statement."""
        texts: list[Piece] = [flat(self._reference(edge, edge.device).piece) for edge in self.graph.outputs]
        if not texts:
            return []
        whole = f"    return {', '.join(map(flat, texts))}"
        return (
            [whole] if len(whole) <= WIDTH or len(texts) == 1 else lines("return ", listing(texts, "(", ")"), indent=4)
        )

    def _reference(self, edge: Edge, device: str) -> Expression:
        """An edge as it is written where it is used on `device` (empty for wherever it is)."""
        if edge.node in self.inlined:
            return self._right_expression(edge.node)
        variables = self.variables[edge.node]
        node = self.graph.nodes[edge.node]
        count = find_operator(node.op).count_outputs(node.arguments, len(node.inputs))
        text = variables[edge.output] if count <= len(variables) else f"{variables[0]}[{edge.output}]"
        made_on = "cpu" if node.device == "cpu" else "gpu"
        return Expression(f"{text}.{device}()" if device and device != made_on else text, ATOM)

    def _operand(self, edge: Edge, node: Node) -> Expression:
        return self._reference(edge, "gpu" if node.device == "gpu" else "cpu")

    def _right_expression(self, name: str) -> Expression:
        piece, precedence = self._right(name)
        return Expression(piece, precedence)

    def _right(self, name: str) -> tuple[Piece, int]:
        """What is assigned: an expression if the node can be written as one and needs no name, else a call."""
        node = self.graph.nodes[name]
        if is_expression(node) and not (self.exact and name in self.named):
            found = expression(
                node,
                lambda edge: self._operand(edge, node if edge in node.inputs else node.replaced(device="cpu")),
                exact=self.exact,
            )
            if found is not None:
                return found.piece, found.precedence
        return self._call(node), ATOM

    def _call(self, node: Node) -> Piece:
        operator = find_operator(node.op)
        items: list[tuple[str, Piece]] = [("", self._operand(edge, node).piece) for edge in node.inputs]
        # What conditionals record has defaults here that NVIDIA DALI does not have.
        inner = node.op.startswith("_conditional.")
        arguments = node.arguments if inner else meaningful_arguments(node)
        hint = _identifier(node.id)
        for key in [key for key in operator.argument_table if key in arguments or key in node.connections]:
            if key in node.connections:
                items.append((f"{key}=", self._reference(node.connections[key], "cpu").piece))
            elif key != "name":
                items.append((f"{key}=", self._argument(arguments[key], operator.argument_table[key], hint)))
        if node.device != self._inferred_device(node, operator):
            items.append(("device=", quoted(node.device)))
        if node.id in self.named:
            items.append(("name=", quoted(node.id)))
        return call(f"fn.{operator.name}", items)

    def _argument(self, value: Any, arg: Arg, hint: str) -> Piece:
        whole = arg.type == "float"
        if arg.vector and isinstance(value, tuple) and len(value) == 1 and not isinstance(value[0], tuple):
            return value_piece(value[0], self.imports, hint, whole=whole)
        return value_piece(value, self.imports, hint, whole=whole)

    def _inferred_device(self, node: Node, operator: type[Operator]) -> str:
        """The device that the node gets when none is given."""
        device = "gpu" if node.inputs and node.device == "gpu" else "cpu"
        if self.exact and operator.devices and device not in operator.devices:
            return operator.devices[0]
        return device


def _output_name(operator: type[Operator], plain: str, index: int) -> str:
    names = [output.name for output in operator.outputs]
    if index < len(names) and len(set(names)) == len(names) and names[index] not in ("output", plain):
        return names[index]
    return f"{plain}_{index}" if index else plain


def _identifier(text: str) -> str:
    """`text` as far as a variable can be called so."""
    plain = re.sub(r"[^0-9A-Za-z_]+", "_", text)
    if plain != text:
        plain = plain.strip("_")
    if not plain.strip("_"):
        return "node"
    return (plain if not plain[0].isdigit() else f"n{plain}")[:_LONGEST]


def _safe(name: str, taken: Sequence[str] | set[str]) -> str:
    """`name`, with an underscore behind it where it would hide something."""
    return f"{name}_" if is_reserved(name) or (name in taken and name in ("main", "pipeline")) else name
