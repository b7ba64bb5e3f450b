"""Calls of a program's functions under ``subgraph``, as sub-graphs of the graph that it defines.

Each call becomes an instance; calls that made the same nodes share a definition. An argument of the function is one of
the sub-graph where the function hands it on as it is (``fn.rotate(images, angle=angle)``).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dali_lab.formats import subgraphs
from dali_lab.formats.json import graph_file
from dali_lab.formats.python.functions import argument_of
from dali_lab.formats.python.programs import parse, signature
from dali_lab.formats.values import encode
from dali_lab.graph.graph import Edge, Graph, bare, unique_name
from dali_lab.graph.recorder import DataNode, SubgraphCall
from dali_lab.model.errors import DaliLabError

_Entry = dict[str, Any]
_MOST_STEPS = 1_000_000
"""Each call goes through all nodes, which takes a few microseconds for one."""


def with_subgraphs(graph: Graph, calls: Mapping[str, SubgraphCall], text: str) -> Graph:
    """The graph with the calls of a program as sub-graphs in its view, as graph files have them.

    It is left as it is where the sub-graphs would not give the same graph again, and where there are very many.
    """
    if not calls or len(calls) * len(graph.nodes) > _MOST_STEPS:
        return graph
    code = {each.name: each for each in ast.walk(parse(text)) if isinstance(each, ast.FunctionDef)}
    document = graph_file.to_document(graph)
    folding = _Folding(code, document["nodes"], document["outputs"])
    for call in sorted(calls.values(), key=lambda each: -each.within.count("/")):
        folding.fold(call)
    if not folding.definitions:
        return graph
    folded = {"nodes": folding.nodes, "outputs": folding.outputs, "subgraphs": folding.definitions}
    found = graph.replaced(view={**graph.view, subgraphs.FOLDED: folded})
    return found if "subgraphs" in graph_file.to_document(found) else graph


@dataclass
class _Handed:
    """A parameter that a function hands on as an argument of a call inside: of which call, and under which name.

    `name` is that of the node, as far as the text tells: `named`, or else after the variable.
    """

    parameter: str
    op: str
    argument: str
    name: str
    named: bool


@dataclass
class _Folding:
    """The entries of a graph's file while calls become instances, the inner ones first."""

    code: Mapping[str, ast.FunctionDef]
    nodes: dict[str, _Entry]
    outputs: list[str | None]
    definitions: dict[str, _Entry] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)
    defaults: dict[tuple[str, str], Any] = field(default_factory=dict)
    moved: dict[Edge, Edge] = field(default_factory=dict)

    def fold(self, call: SubgraphCall) -> None:
        """Put an instance in the place of the nodes of a call, if it made any."""
        name, prefix = call.within[:-1], call.within
        members = {each: entry for each, entry in self.nodes.items() if each.startswith(prefix)}
        if not members or name in self.nodes:
            return
        inner = {each: each.removeprefix(prefix) for each in members}
        parameters = _bound(call, self.code.get(call.function))
        arguments, given = self._arguments(call, members, inner, parameters)
        inputs = self._inputs(members, inner, parameters, arguments)

        def inside(edge: Edge) -> Edge:
            if edge.node in inner:
                return Edge(inner[edge.node], edge.output)
            return Edge(inputs[edge])

        body = {inner[each]: entry for each, entry in members.items()}
        for parameter, targets in arguments.items():
            default = self.defaults.get((call.function, parameter))
            for target in targets:
                body[target["node"]] = _set(body[target["node"]], target["argument"], default)
        body = {each: _rewired(entry, inside) for each, entry in body.items()}
        outputs = self._outputs(call, members)
        definition = {
            "inputs": list(inputs.values()),
            **({"arguments": arguments} if arguments else {}),
            "nodes": body,
            "outputs": [graph_file.edge_text(inside(edge)) for edge in outputs],
        }
        if (function := self.code.get(call.function)) is not None and (summary := ast.get_docstring(function)):
            definition["summary"] = summary.partition("\n")[0]
        instance: _Entry = {"op": subgraphs.PREFIX + self._definition(call.function, definition)}
        if inputs:
            instance["inputs"] = [graph_file.edge_text(edge) for edge in inputs]
        for part in ("arguments", "connections"):
            if given[part]:
                instance[part] = given[part]
        self._replace(members, name, instance, {edge: Edge(name, index) for index, edge in enumerate(outputs)})

    def _replace(self, members: Mapping[str, _Entry], name: str, instance: _Entry, moved: dict[Edge, Edge]) -> None:
        self.moved.update(moved)
        nodes: dict[str, _Entry] = {}
        for each, entry in self.nodes.items():
            if each in members:
                nodes.setdefault(name, instance)
            else:
                nodes[each] = _rewired(entry, lambda edge: moved.get(edge, edge))
        self.nodes = nodes
        for index, text in enumerate(self.outputs):
            if text is not None and (found := moved.get(bare(edge := Edge.parse(text)))) is not None:
                self.outputs[index] = graph_file.edge_text(found._replace(device=edge.device))

    def _definition(self, function: str, definition: _Entry) -> str:
        for name, made_by in self.made_by.items():
            if made_by == function and self.definitions[name] == definition:
                return name
        name = unique_name(function, self.definitions)
        self.definitions[name], self.made_by[name] = definition, function
        return name

    def _edge(self, value: object) -> Edge | None:
        """The output that a value of the program stands for by now, if it is one of this graph."""
        if not isinstance(value, DataNode) or not value.source.placed:
            return None
        edge = Edge(value.source.placed, value.index)
        while edge in self.moved:
            edge = self.moved[edge]
        return edge if edge.node in self.nodes else None

    def _arguments(
        self,
        call: SubgraphCall,
        members: Mapping[str, _Entry],
        inner: Mapping[str, str],
        parameters: Mapping[str, Any],
    ) -> tuple[dict[str, list[_Entry]], dict[str, _Entry]]:
        """The arguments of the sub-graph with those inside that they set, and what this call gives."""
        found: dict[str, list[_Entry]] = {}
        given: dict[str, _Entry] = {"arguments": {}, "connections": {}}
        function = self.code.get(call.function)
        handed = [] if function is None else list(_handed_on(function))
        for parameter, value in parameters.items():
            edge = self._edge(value)
            for each, entry in members.items():
                for use in handed:
                    if use.parameter != parameter or not self._is_call(entry["op"], inner[each], use):
                        continue
                    arg = argument_of(self.definitions, entry["op"], use.argument)
                    set_to = (entry.get("arguments") or {}).get(use.argument)
                    connected = (entry.get("connections") or {}).get(use.argument)
                    if arg is None:
                        continue
                    place = {"node": inner[each], "argument": use.argument}
                    default = self.defaults.setdefault(
                        (call.function, parameter), _encoded(arg, _default(function, parameter))
                    )
                    if edge is not None or connected is not None:
                        if edge is None or connected != graph_file.edge_text(edge):
                            continue
                        given["connections"][parameter] = connected
                    elif set_to is None or set_to != _encoded(arg, value):
                        continue
                    elif set_to != default:
                        given["arguments"][parameter] = set_to
                    if place not in found.setdefault(parameter, []):
                        found[parameter].append(place)
        return found, given

    def _is_call(self, op: str, name: str, use: _Handed) -> bool:
        """Whether a node may be what a call in the text of a function made."""
        wanted = use.name
        if op.startswith(subgraphs.PREFIX):
            op = self.made_by[op.removeprefix(subgraphs.PREFIX)]
            # Variables give names to operators alone.
            wanted = use.name if use.named else op
        if op.rpartition(".")[2] != use.op:
            return False
        return not wanted or name == wanted or name.startswith(f"{wanted}_")

    def _inputs(
        self,
        members: Mapping[str, _Entry],
        inner: Mapping[str, str],
        parameters: Mapping[str, Any],
        arguments: Mapping[str, list[_Entry]],
    ) -> dict[Edge, str]:
        """The outputs outside that the nodes use, but for arguments of the sub-graph, with their names inside."""
        set_by_arguments = {(each["node"], each["argument"]) for targets in arguments.values() for each in targets}
        used: dict[Edge, None] = {}
        for each, entry in members.items():
            for key, edge in _edges(entry):
                if edge.node not in members and (inner[each], key) not in set_by_arguments:
                    used[edge] = None
        taken: dict[str, Any] = dict.fromkeys([*inner.values(), *arguments])
        inputs: dict[Edge, str] = {}

        def add(edge: Edge | None, wanted: str) -> None:
            if edge in used and edge not in inputs:
                inputs[edge] = name = unique_name(wanted, taken)
                taken[name] = None

        for parameter, value in parameters.items():
            several = value if isinstance(value, (list, tuple)) else [value]
            for each in several:
                add(self._edge(each), parameter)
        for edge in used:
            add(edge, edge.node.rpartition("/")[2])
        return inputs

    def _outputs(self, call: SubgraphCall, members: Mapping[str, _Entry]) -> list[Edge]:
        """The outputs of the nodes that the call returned, and others that are used outside."""
        found = dict.fromkeys(edge for edge in map(self._edge, _flat(call.results)) if edge is not None)
        outside = [edge for name, entry in self.nodes.items() if name not in members for _, edge in _edges(entry)]
        ends = [bare(Edge.parse(text)) for text in self.outputs if text is not None]
        return [edge for edge in dict.fromkeys([*found, *outside, *ends]) if edge.node in members]


def _bound(call: SubgraphCall, function: ast.FunctionDef | None) -> dict[str, Any]:
    """Values that a call gave to the parameters of its function, in their order."""
    plain = {f"input_{index}" if index else "input": value for index, value in enumerate(call.inputs)}
    if function is None:
        return {**plain, **call.arguments}
    try:
        bound = signature(function.args).bind_partial(*call.inputs, **call.arguments).arguments
    except TypeError:
        return {**plain, **call.arguments}
    own = signature(function.args).parameters
    several = {each.name for each in own.values() if each.kind is inspect.Parameter.VAR_KEYWORD}
    found = {name: bound.get(name, _default(function, name)) for name in own if name not in several}
    return {**found, **{key: value for name in several for key, value in bound.get(name, {}).items()}}


def _default(function: ast.FunctionDef | None, parameter: str) -> Any:
    """The default of a parameter, where it is a plain value."""
    declared = None if function is None else signature(function.args).parameters.get(parameter)
    if declared is None or not isinstance(declared.default, ast.expr):
        return None
    try:
        return ast.literal_eval(declared.default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _handed_on(function: ast.FunctionDef) -> Iterator[_Handed]:
    """The parameters that a function hands on as they are."""
    own = signature(function.args).parameters
    names = {id(each.value): each.targets[0].id for each in ast.walk(function) if _is_assignment(each)}  # type: ignore[attr-defined]
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
            continue
        op = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        written = next((each.value for each in call.keywords if each.arg == "name"), None)
        name = written.value if isinstance(written, ast.Constant) else names.get(id(call), "")
        for keyword in call.keywords:
            if keyword.arg and isinstance(keyword.value, ast.Name) and keyword.value.id in own:
                yield _Handed(keyword.value.id, op, keyword.arg, str(name), isinstance(written, ast.Constant))


def _is_assignment(statement: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Call()):
            return True
    return False


def _encoded(arg: Any, value: object) -> Any:
    try:
        return None if value is None else encode(arg.canonical(value), arg)
    except DaliLabError:
        return None


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, dict):
        yield from _flat(list(value.values()))
    else:
        yield value


def _edges(entry: _Entry) -> Iterator[tuple[str, Edge]]:
    """The edges that lead to a node, with the names of arguments that they are given to."""
    for text in entry.get("inputs") or ():
        if text is not None:
            yield "", Edge.parse(text)
    for key, text in (entry.get("connections") or {}).items():
        yield key, Edge.parse(text)


def _rewired(entry: _Entry, moved: Any) -> _Entry:
    def text(edge: str | None) -> str | None:
        return None if edge is None else graph_file.edge_text(moved(Edge.parse(edge)))

    result = dict(entry)
    if entry.get("inputs"):
        result["inputs"] = list(map(text, entry["inputs"]))
    if entry.get("connections"):
        result["connections"] = {key: text(edge) for key, edge in entry["connections"].items()}
    return result


def _set(entry: _Entry, argument: str, value: Any) -> _Entry:
    """A node with a constant for an argument, or without it."""
    parts = {part: {**(entry.get(part) or {})} for part in ("arguments", "connections")}
    for part in parts.values():
        part.pop(argument, None)
    if value is not None:
        parts["arguments"][argument] = value
    return {**{key: each for key, each in entry.items() if key not in parts}, **{k: p for k, p in parts.items() if p}}
