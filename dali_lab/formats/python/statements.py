"""The body of an exported pipeline function: one line a node, with names that tracing finds again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from dali_lab.formats.python.comments import comment_lines
from dali_lab.formats.python.conditionals import Conditions, If, Item, is_conditional, is_not, is_split
from dali_lab.formats.python.expressions import (
    ATOM,
    Expression,
    expression,
    is_arithmetic,
    is_expression,
)
from dali_lab.formats.python.layout import WIDTH, Imports, Piece, call, flat, free, lines, listing, quoted, value_piece
from dali_lab.formats.python.parameters import Parameters
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.graph.meaning import meaningful_arguments
from dali_lab.graph.naming import is_reserved, node_name
from dali_lab.schema.arguments import Arg
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator

_LONGEST = 25
_INDENT = 4
_OR, _AND, _NOT = 2, 3, 4


class Statements:
    """Writes the nodes of a graph as assignments.

    Parameters
    ----------
    graph
        A finished graph.
    imports
        Collects what the program needs.
    exact
        Keep the names of all nodes; otherwise expressions have them only as far as a variable can be called so.
    conditions
        Nodes that are written as ``if``, ``and``, ``or`` and ``not``.
    named
        Nodes that are given their names by ``name=`` in any case.
    here
        Whether paths that begin with ``./`` start at the folder of the program.
    """

    def __init__(
        self,
        graph: Graph,
        imports: Imports,
        *,
        exact: bool,
        conditions: Conditions,
        named: Collection[str] = (),
        here: bool = False,
    ) -> None:
        self.graph = graph
        self.imports = imports
        self.parameters = Parameters(graph, here=here, taken=imports.taken)
        self.exact = exact
        self.conditions = conditions
        self.order = conditions.written()
        self.uses = Counter(edge.node for edge in graph.edges())
        self.users: dict[str, list[tuple[Node, str]]] = {name: [] for name in graph.nodes}
        for node in graph.nodes.values():
            for key, edge in [*(("", edge) for edge in node.inputs), *node.connections.items()]:
                self.users[edge.node].append((node, key))
        self.used = {(edge.node, edge.output) for edge in graph.edges()}
        self._reserve_objects()
        self.variables = {name: self._variables(graph.nodes[name]) for name in self.order}
        self._share_variables()
        self.inlined = {name for name in self.order if self._may_inline(name) or self._may_decide(name)}
        self.inlined |= conditions.inlined
        self.named: set[str] = {name for name in self.order if self._wants_name(graph.nodes[name])} | set(named)
        self._settle()

    def _reserve_objects(self) -> None:
        """Give imported objects their names first, so that variables step aside."""
        for node in self.graph.nodes.values():
            for value in node.arguments.values():
                value_piece(value, self.imports, _identifier(node.id))

    def _variables(self, node: Node) -> tuple[str, ...]:
        operator = find_operator(node.op)
        count = 1 if operator.output_keys(node.arguments) else operator.count_outputs(node.arguments, len(node.inputs))
        plain = _identifier(node.id)
        # A reader's outputs are called after what they hold, and the reader keeps its name by `name=`.
        reader = self._wants_name(node)
        taken = self.imports.taken
        if count == 0:
            return ()
        first = free(_safe(_output_name(operator, node, plain, 0) if reader else plain, taken), taken)
        if not _unpacked(count, node):
            return (first,)
        rest = [free(_safe(_output_name(operator, node, plain, index), taken), taken) for index in range(1, count)]
        unused = [(node.id, index) not in self.used and (index > 0 or reader) for index in range(count)]
        return tuple("_" if gone else name for name, gone in zip((first, *rest), unused, strict=True))

    def _share_variables(self) -> None:
        """Give both branches of a condition one variable for a result: that of a node that makes it, if any."""
        self.direct: dict[str, str] = {}
        for merge in self.conditions.merges:
            sources = [self._giver(merge, branch) for branch in (0, 1)]
            given = [source for source in sources if source is not None]
            self.direct.update(dict.fromkeys(given, merge))
            self._give(merge, self.variables[given[0] if given else merge])

    def _give(self, name: str, variables: tuple[str, ...]) -> None:
        """Let a node and all that it is joined of have one variable."""
        self.variables[name] = variables
        for source, merge in self.direct.items():
            if merge == name:
                self._give(source, variables)

    def _giver(self, merge: str, branch: int) -> str | None:
        """The node that makes the result of a branch, if nothing else uses it."""
        edge = self.graph.nodes[merge].inputs[branch]
        inside = self.conditions.merges[merge]
        name = edge.node
        items = (inside.true, inside.false)[branch]
        here = {item for item in items if isinstance(item, str)}
        here |= {each for item in items if isinstance(item, If) for each in item.merges}
        if name in self.direct or name not in here or self.uses[name] != 1:
            return None
        return name if len(self.variables[name]) == 1 and not self._wants_name(self.graph.nodes[name]) else None

    def _may_decide(self, name: str) -> bool:
        """Whether a node with a name that nobody chose only decides one ``if``, so that it can stand there."""
        node = self.graph.nodes[name]
        if not self.conditions.structured or not (is_arithmetic(node) or self._is_logical(name)):
            return False
        if re.fullmatch(rf"{re.escape(_auto_name(node.op))}(_\d+)?", name) is None:
            return False
        users = self.users[name]
        joins = all(is_split(other) or other.id in self.conditions.merges for other, _ in users)
        decides = bool(users) and joins and all(key == "predicate" for _, key in users)
        return decides and not any(edge.node == name for edge in self.graph.outputs)

    def _may_inline(self, name: str) -> bool:
        """Whether a node is a part of one other expression, with a name that nobody chose."""
        node = self.graph.nodes[name]
        if not is_arithmetic(node) or self.uses[name] != 1:
            return False
        consumer = next((other for other, key in self.users[name] if not key), None)
        if consumer is None or not is_arithmetic(consumer) or consumer.device != node.device:
            return False
        return re.fullmatch(rf"{re.escape(_auto_name(node.op))}(_\d+)?", name) is not None

    def _wants_name(self, node: Node) -> bool:
        operator = find_operator(node.op)
        if not operator.source or operator.fed or operator.output_keys(node.arguments):
            return False
        return _unpacked(operator.count_outputs(node.arguments, len(node.inputs)), node)

    @property
    def _fixed(self) -> Collection[str]:
        """Nodes whose names cannot be given: they are written as ``if``, ``and``, ``or`` or ``not``."""
        return {*self.conditions.merges, *filter(self._is_logical, self.order)}

    def _is_logical(self, name: str) -> bool:
        """Whether a node is written as ``and``, ``or`` or ``not``."""
        return name in self.conditions.logical or (self.conditions.structured and is_not(self.graph.nodes[name]))

    def _settle(self) -> None:
        """Write nodes on lines of their own, or name them, until tracing would give each its own name."""
        for _ in range(len(self.order) + 2):
            if wide := {name for name in self.order if name not in self.inlined and self._too_wide(name)}:
                self.inlined -= {edge.node for name in wide for edge in self.graph.nodes[name].inputs}
            wrong = {name for name, given in self._traced_names().items() if given != name and name not in self._fixed}
            unlined = {name for name in wrong & self.inlined if is_arithmetic(self.graph.nodes[name])}
            unlined -= self.conditions.inlined
            if unlined:
                self.inlined -= unlined
            elif wrong - self.named:
                self.named |= wrong
            else:
                return

    def _too_wide(self, name: str) -> bool:
        inputs = {edge.node for edge in self.graph.nodes[name].inputs}
        return not self.inlined.isdisjoint(inputs) and (
            len(f"    {self.variables[name][0]} = {flat(self._right(name).piece)}") > WIDTH
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
        return [name for name in result if name in self.variables]

    def _traced_names(self) -> dict[str, str]:
        """The name that tracing would give to each node."""
        order = self._call_order()
        explicit = {name for name in order if name in self.named and self._takes_name(name)}
        taken: dict[str, Any] = dict.fromkeys(explicit)
        result = {}
        for name in order:
            if name in explicit:
                result[name] = name
                continue
            node = self.graph.nodes[name]
            nameless = name in self.inlined or name in self.conditions.merges
            wanted = "" if nameless else node_name(self.variables[name])
            result[name] = unique_name(wanted or _auto_name(node.op), taken)
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
            keys = find_operator(self.graph.nodes[edge.node].op).output_keys(self.graph.nodes[edge.node].arguments)
            name = variables[edge.output] if edge.output < len(variables) else f"{variables[0]}_{edge.output}"
            name = _identifier(keys[edge.output]) if keys else name
            plain = node_name((name,)) or "output"
            result.append(free(plain if not is_reserved(plain) else f"{plain}_", taken))
        return result

    def lines(self) -> list[str]:
        """The assignments."""
        return self._block(self.conditions.items, _INDENT)

    def _block(self, items: Sequence[Item], indent: int) -> list[str]:
        result: list[str] = []
        for item in items:
            if isinstance(item, If):
                result += self._if(item, indent)
            elif item not in self.inlined:
                result += self._assignment(item, indent)
        return result

    def _assignment(self, name: str, indent: int) -> list[str]:
        variables = self.variables[name]
        # An external source that was told its number of outputs gives a list, even of one.
        alone = len(variables) == 1 and self.graph.nodes[name].arguments.get("num_outputs") == 1
        left = f"({variables[0]},)" if alone else ", ".join(variables)
        left = f"{left} = " if self.uses[name] or len(variables) > 1 else ""
        return [
            *comment_lines(self.graph, name, indent, WIDTH),
            *lines(left, self._right(name).piece, indent=indent),
        ]

    def _if(self, item: If, indent: int, word: str = "if") -> list[str]:
        result = lines(f"{word} ", self._reference(item.predicate, "").piece, ":", indent)
        result += self._branch(item, 0, indent + _INDENT)
        # An ``if`` alone in an ``else`` is an ``elif``.
        inner = [each for each in item.false if isinstance(each, If) or each not in self.inlined]
        given = all(self.direct.get(self.graph.nodes[merge].inputs[1].node) == merge for merge in item.merges)
        if len(inner) == 1 and isinstance(inner[0], If) and given:
            return result + self._if(inner[0], indent, "elif")
        return [*result, f"{' ' * indent}else:", *self._branch(item, 1, indent + _INDENT)]

    def _branch(self, item: If, branch: int, indent: int) -> list[str]:
        result = self._block((item.true, item.false)[branch], indent)
        for merge in item.merges:
            edge = self.graph.nodes[merge].inputs[branch]
            if self.direct.get(edge.node) != merge:
                given = self._operand(edge, self.graph.nodes[merge]).piece
                result += lines(f"{self.variables[merge][0]} = ", given, "", indent)
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
        edge = self.conditions.resolved(edge)
        if edge.node in self.inlined:
            return self._right(edge.node)
        variables = self.variables[edge.node]
        node = self.graph.nodes[edge.node]
        operator = find_operator(node.op)
        count = operator.count_outputs(node.arguments, len(node.inputs))
        keys = operator.output_keys(node.arguments)
        key = quoted(keys[edge.output]) if keys else str(edge.output)
        text = variables[edge.output] if count <= len(variables) and not keys else f"{variables[0]}[{key}]"
        made_on = "cpu" if node.device == "cpu" else "gpu"
        return Expression(f"{text}.{device}()" if device and device != made_on else text, ATOM)

    def _operand(self, edge: Edge, node: Node) -> Expression:
        return self._reference(edge, "gpu" if node.device == "gpu" else "cpu")

    def _right(self, name: str) -> Expression:
        """The right side of an assignment: an expression if the node can be one and needs no name, else a call."""
        node = self.graph.nodes[name]
        if self._is_logical(name):
            return self._condition(node)
        if is_expression(node) and not (self.exact and name in self.named):
            found = expression(
                node,
                lambda edge: self._operand(edge, node if edge in node.inputs else node.replaced(device="cpu")),
                exact=self.exact,
            )
            if found is not None:
                return found
        return Expression(self._call(node))

    def _condition(self, node: Node) -> Expression:
        """``and``, ``or`` and ``not`` as Python writes them."""
        if is_not(node):
            return Expression(f"not {self._reference(node.inputs[0], '').within(_NOT)}", _NOT)
        logical = self.conditions.logical[node.id]
        precedence = _AND if logical.word == "and" else _OR
        left = self._reference(logical.left, "").within(precedence)
        right = self._reference(logical.right, "").within(precedence + 1)
        return Expression(f"{left} {logical.word} {right}", precedence)

    def _call(self, node: Node) -> Piece:
        operator = find_operator(node.op)
        if operator.syntax == "shape" and node.device == "cpu" and node.id not in self.named:
            return self._shape(node)
        items: list[tuple[str, Piece]] = [("", self._operand(edge, node).piece) for edge in node.inputs]
        # Operators of conditionals have defaults here that NVIDIA DALI's do not have.
        arguments = operator.as_called(node.arguments if is_conditional(node) else meaningful_arguments(node))
        hint = _identifier(node.id)
        for key in [key for key in operator.argument_table if key in arguments or key in node.connections]:
            if key in node.connections:
                items.append((f"{key}=", self._reference(node.connections[key], "cpu").piece))
            elif key != "name" and (self.exact or not operator.argument_table[key].beyond_dali):
                items.append((f"{key}=", self._argument(arguments[key], operator.argument_table[key], hint)))
        if node.device != self._inferred_device(node, operator):
            items.append(("device=", quoted(node.device)))
        if node.id in self.named:
            items.append(("name=", quoted(node.id)))
        return call(f"fn.{operator.name}", items)

    def _shape(self, node: Node) -> Piece:
        arguments = meaningful_arguments(node)
        given = [("dtype=", value_piece(arguments["dtype"], self.imports))] if "dtype" in arguments else []
        return call(f"{self._operand(node.inputs[0], node).within(ATOM)}.shape", given)

    def _argument(self, value: Any, arg: Arg, hint: str) -> Piece:
        if (path := self.parameters.argument(value, arg)) is not None:
            return path
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


def _auto_name(op: str) -> str:
    """The name that tracing gives to a node without a variable."""
    return op.rsplit(".", 1)[-1].strip("_")


def _unpacked(count: int, node: Node) -> bool:
    """Whether each output gets a variable of its own: up to three of them, and those of a reader that have names."""
    return 1 < count <= 3 or (count > 3 and any(output.when for output in find_operator(node.op).outputs))


def _output_name(operator: type[Operator], node: Node, plain: str, index: int) -> str:
    names = [output.name for output in operator.present_outputs(node.arguments)]
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
