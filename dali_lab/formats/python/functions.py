"""Sub-graphs of a graph's file as functions of the exported program.

A call and the ports of a function stand in a graph of their own as nodes, which :class:`Statements` writes as names and
calls. Whether the program gives the graph again is for the caller to check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.formats.json import graph_file
from dali_lab.formats.python.conditionals import Conditions
from dali_lab.formats.python.expressions import Expression
from dali_lab.formats.python.layout import Imports, Piece, call, lines, value_piece
from dali_lab.formats.python.statements import Statements
from dali_lab.formats.values import decode
from dali_lab.graph.graph import Edge, Graph, Node, unique_name
from dali_lab.model.errors import FormatError
from dali_lab.schema.arguments import Arg
from dali_lab.schema.registry import find_operator, has_operator

STAND_IN = "python_function"
"""An operator that takes any inputs and gives any number of outputs, as a call of a function does."""
_Entry = Mapping[str, Any]


@dataclass
class Parts:
    """A graph in which sub-graphs are calls, and ports of a function are nodes.

    Attributes
    ----------
    graph
        The graph.
    calls
        By node: the function, how many inputs it is given, and the names of the arguments that are given by nodes.
    constants
        By node: constants of its arguments, with their declarations.
    ports
        Nodes that stand for the inputs and arguments of a function.
    """

    graph: Graph
    calls: dict[str, tuple[str, int, tuple[str, ...]]] = field(default_factory=dict)
    constants: dict[str, dict[str, tuple[Any, Arg | None]]] = field(default_factory=dict)
    ports: tuple[str, ...] = ()


class Body(Statements):
    """Statements of a graph with calls of functions."""

    def __init__(
        self,
        parts: Parts,
        imports: Imports,
        functions: Mapping[str, Function],
        *,
        inside: bool = True,
        here: bool = False,
    ) -> None:
        self.parts = parts
        self.inside = inside
        self.functions = functions
        plain = Conditions(parts.graph, tuple(parts.graph.order()), structured=False)
        super().__init__(
            parts.graph, imports, exact=True, conditions=plain, named=[*parts.calls, *parts.ports], here=here
        )

    def _assignment(self, name: str, indent: int) -> list[str]:
        return [] if name in self.parts.ports else super()._assignment(name, indent)

    def _operand(self, edge: Edge, node: Node) -> Expression:
        # A function takes what it is given, wherever that is.
        return self._reference(edge, "") if node.id in self.parts.calls else super()._operand(edge, node)

    def _call(self, node: Node) -> Piece:
        if node.id not in self.parts.calls:
            return super()._call(node)
        name, inputs, connected = self.parts.calls[node.id]
        function = self.functions[name]
        items: list[tuple[str, Piece]] = [("", self._operand(edge, node).piece) for edge in node.inputs[:inputs]]
        given = dict(zip(connected, node.inputs[inputs:], strict=True))
        for parameter, written in function.parameters.items():
            if parameter in given:
                items.append((f"{written}=", self._reference(given[parameter], "cpu").piece))
            elif parameter in self.parts.constants.get(node.id, {}):
                value, arg = self.parts.constants[node.id][parameter]
                items.append((f"{written}=", self.value(value, arg)))
        items.append(("name=", repr(node.id).replace("'", '"')))
        return call(function.name, items)

    def _argument(self, value: Any, arg: Arg, hint: str) -> Piece:
        if not self.inside:
            return super()._argument(value, arg, hint)
        # The settings at the top of a program are those of its pipeline.
        alone = arg.vector and isinstance(value, tuple) and len(value) == 1 and not isinstance(value[0], tuple)
        return value_piece(value[0] if alone else value, self.imports, hint, whole=arg.type == "float")

    def value(self, value: Any, arg: Arg | None) -> Piece:
        """A constant as the argument of a call."""
        if arg is None:
            raise FormatError("a value of an argument that no operator declares")
        return self._argument(value, arg, "value")


@dataclass
class Function:
    """A function of the program.

    Attributes
    ----------
    name
        Its name.
    parameters
        The arguments of the sub-graph, with the names that they have in the function.
    text
        Its lines.
    """

    name: str
    parameters: dict[str, str]
    text: list[str]


def functions(graph: Graph, imports: Imports, here: bool = False) -> tuple[list[Function], Body] | None:
    """The functions for the sub-graphs of a graph's file, and the statements that call them.

    `None` where it has none. A graph that has no such form raises :class:`FormatError`.
    """
    folded = graph.view.get(subgraphs.FOLDED)
    if folded is None:
        return None
    definitions = folded.get("subgraphs") or {}
    made: dict[str, Function] = {}
    used = [name for name in _needed(folded["nodes"], definitions) if name in definitions]
    for name in used:
        imports.taken.add(name)
    for name in used:
        made[name] = _function(name, definitions, made, imports, _set_arguments(name, folded["nodes"], definitions))
    return list(made.values()), Body(_parts(folded, definitions, graph), imports, made, inside=False, here=here)


def _needed(nodes: _Entry, definitions: _Entry) -> list[str]:
    """The definitions that nodes use, each after those that it uses itself."""
    found: dict[str, None] = {}
    for node in nodes.values():
        used = subgraphs.definition_of({"subgraphs": definitions}, node.get("op"))
        if used is not None and used[0] not in found:
            found.update(dict.fromkeys(_needed(used[1].get("nodes") or {}, definitions)))
            found[used[0]] = None
    return list(found)


def _set_arguments(name: str, nodes: _Entry, definitions: _Entry) -> set[str]:
    """The arguments that some instance of a definition is given, also by arguments of the sub-graph around it."""
    every = [nodes, *((each.get("nodes") or {}) for each in definitions.values())]
    uses = [node for each in every for node in each.values() if node.get("op") == subgraphs.PREFIX + name]
    given = {key for node in uses for part in ("arguments", "connections") for key in node.get(part) or {}}
    for definition in definitions.values():
        for targets in (definition.get("arguments") or {}).values():
            given |= {each["argument"] for each in targets if _op(definition, each) == subgraphs.PREFIX + name}
    return given


def _op(definition: _Entry, target: _Entry) -> str:
    return str(definition["nodes"][target["node"]].get("op"))


def _function(
    name: str, definitions: _Entry, made: Mapping[str, Function], imports: Imports, given: set[str]
) -> Function:
    definition = definitions[name]
    nodes = dict(definition.get("nodes") or {})
    taken: dict[str, Any] = dict.fromkeys([*nodes, *(definition.get("inputs") or ())])
    ports: dict[str, Node] = {each: _port(each) for each in definition.get("inputs") or ()}
    parameters: dict[str, str] = {}
    defaults: dict[str, tuple[Any, Arg | None]] = {}
    for parameter, targets in (definition.get("arguments") or {}).items():
        first = nodes[targets[0]["node"]] if targets else {}
        own = (first.get("arguments") or {}).get(targets[0]["argument"]) if targets else None
        connected = any((nodes[each["node"]].get("connections") or {}).get(each["argument"]) for each in targets)
        if not targets or (connected and parameter not in given) or (own is None and parameter not in given):
            continue
        if connected:
            raise FormatError(f"'{parameter}' of '{name}' is drawn inside, or given")
        port = unique_name(parameter, taken)
        taken[port] = None
        ports[port], parameters[parameter] = _port(port), port
        defaults[parameter] = own, argument_of(definitions, first["op"], targets[0]["argument"])
        for target in targets:
            node = dict(nodes[target["node"]])
            node["arguments"] = {k: v for k, v in (node.get("arguments") or {}).items() if k != target["argument"]}
            node["connections"] = {**(node.get("connections") or {}), target["argument"]: port}
            nodes[target["node"]] = node
    parts = _parts({"nodes": nodes, "outputs": definition.get("outputs") or []}, definitions, None, ports)
    body = Body(parts, Imports(imports.numpy, imports.objects, imports.stubs, set(imports.taken)), made)
    written = {parameter: body.variables[port][0] for parameter, port in parameters.items()}
    items: list[tuple[str, Piece]] = [("", body.variables[each][0]) for each in definition.get("inputs") or ()]
    if written:
        items.append(("", "*"))
    for parameter, variable in written.items():
        value, arg = defaults[parameter]
        default = "None" if value is None else body.value(decode(value, arg), arg)
        items.append((f"{variable}=", default))
    text = ["@subgraph", *lines("def ", call(name, items), ":")]
    if isinstance(definition.get("summary"), str) and '"' not in definition["summary"]:
        text.append(f'    """{definition["summary"]}"""')
    return Function(name, written, [*text, *body.lines(), *body.returned()])


def _port(name: str) -> Node:
    return Node(name, STAND_IN)


def argument_of(definitions: _Entry, op: str, argument: str) -> Arg | None:
    """The declaration of an argument of an operator or a sub-graph."""
    found = subgraphs.definition_of({"subgraphs": definitions}, op)
    if found is None:
        return find_operator(op).argument_table.get(argument) if has_operator(op) else None
    targets = (found[1].get("arguments") or {}).get(argument) or ()
    inner = found[1]["nodes"][targets[0]["node"]]["op"] if targets else ""
    return argument_of(definitions, inner, targets[0]["argument"]) if targets else None


def _parts(entries: _Entry, definitions: _Entry, whole: Graph | None, ports: Mapping[str, Node] | None = None) -> Parts:
    """A graph of entries: those that are sub-graphs become calls."""
    document = {"format": graph_file.FORMAT, "version": graph_file.VERSION, "outputs": entries["outputs"]}
    plain = {name: each for name, each in entries["nodes"].items() if not _is_call(each, definitions)}
    read = graph_file.from_document({**document, "nodes": plain})
    nodes: dict[str, Node] = dict(ports or {})
    parts = Parts(read, ports=tuple(nodes))
    for name, entry in entries["nodes"].items():
        if name in read.nodes:
            # Python objects are in the graph, and only their names in the file.
            nodes[name] = whole.nodes.get(name, read.nodes[name]) if whole is not None else read.nodes[name]
            continue
        found = subgraphs.definition_of({"subgraphs": definitions}, entry["op"])
        assert found is not None
        inputs = [Edge.parse(edge) for edge in _given(entry)]
        connections = {key: Edge.parse(edge) for key, edge in (entry.get("connections") or {}).items() if edge}
        constants = {
            key: (decode(value, arg := argument_of(definitions, entry["op"], key)), arg)
            for key, value in (entry.get("arguments") or {}).items()
            if key not in connections and value is not None
        }
        count = len(found[1].get("outputs") or ())
        device = _device(found[1], definitions)
        nodes[name] = Node(
            name, STAND_IN, device, (*inputs, *connections.values()), {"num_outputs": count} if count != 1 else {}
        )
        parts.calls[name] = found[0], len(inputs), tuple(connections)
        parts.constants[name] = constants
    parts.graph = read.replaced(nodes=_rewired(nodes, whole, entries))
    if whole is not None:
        needed = parts.graph.ancestors(edge.node for edge in parts.graph.outputs)
        parts.graph = parts.graph.without(set(nodes) - needed).replaced(view=whole.view, pipeline=whole.pipeline)
    return parts


def _rewired(nodes: dict[str, Node], whole: Graph | None, entries: _Entry) -> dict[str, Node]:
    """The nodes with the edges of the entries, where those of the whole graph lead into sub-graphs."""
    if whole is None:
        return nodes
    result = {}
    for name, node in nodes.items():
        entry = entries["nodes"][name]
        if node.op == STAND_IN and name not in whole.nodes:
            result[name] = node
            continue
        inputs = tuple(Edge.parse(edge) for edge in entry.get("inputs") or () if edge is not None)
        connections = {key: Edge.parse(edge) for key, edge in (entry.get("connections") or {}).items() if edge}
        result[name] = node.replaced(inputs=inputs, connections=connections)
    return result


def _is_call(entry: _Entry, definitions: _Entry) -> bool:
    return subgraphs.definition_of({"subgraphs": definitions}, entry.get("op")) is not None


def _given(entry: _Entry) -> Sequence[str]:
    inputs = list(entry.get("inputs") or ())
    if None in inputs:
        raise FormatError("an input of a sub-graph is not connected")
    return inputs


def _device(definition: _Entry, definitions: _Entry) -> str:
    """The device of the first output of a sub-graph."""
    outputs = definition.get("outputs") or ()
    node = (definition.get("nodes") or {}).get(Edge.parse(outputs[0]).node) if outputs else None
    if node is None:
        return "cpu"
    found = subgraphs.definition_of({"subgraphs": definitions}, node["op"])
    return _device(found[1], definitions) if found is not None else str(node.get("device", "cpu"))
