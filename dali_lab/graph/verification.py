"""Verification: finds every problem of a graph before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.settings import check_settings
from dali_lab.graph.tracing import check_input_count
from dali_lab.model.errors import ArgumentError, DaliLabError, GraphError, nearest
from dali_lab.schema.registry import find_operator, has_operator


@dataclass(frozen=True)
class Problem:
    """One problem found by verification.

    Attributes
    ----------
    message
        A sentence.
    code
        A word by which programs recognise it, as :attr:`dali_lab.model.errors.DaliLabError.code`.
    node, argument, input
        Where it is.
    absent
        For an edge from a missing node (``"node_missing"``): the name of that node.
    severity
        ``"error"`` or ``"warning"``.
    """

    message: str
    code: str
    node: str | None = None
    argument: str | None = None
    input: int | None = None
    severity: str = "error"
    absent: str | None = None


def problems(graph: Graph) -> list[Problem]:
    """Every problem that keeps the graph from running."""
    found = [problem for node in graph.nodes.values() for problem in _node_problems(graph, node)]
    try:
        check_settings(graph.pipeline)
    except ArgumentError as error:
        found.append(Problem(error.message, error.code, None, error.argument))
    for edge in graph.outputs:
        found.extend(_edge_problems(graph, edge, None, None, None))
    try:
        graph.order()
    except GraphError as error:
        found.append(Problem(error.message, error.code, error.node))
    return found


def verify(graph: Graph) -> None:
    """Raise the first problem.

    Raises
    ------
    GraphError
        If the graph cannot run.
    """
    if not graph.outputs and not any(node.arguments.get("preserve") for node in graph.nodes.values()):
        raise GraphError("the graph has no outputs", code="no_outputs")
    for problem in problems(graph):
        node = graph.nodes.get(problem.node or "")
        kind = ArgumentError if problem.argument else GraphError
        raise kind(
            problem.message,
            node=problem.node,
            operator=node.op if node else None,
            argument=problem.argument,
            origin=(node.origin or None) if node else None,
            code=problem.code,
        )


def _node_problems(graph: Graph, node: Node) -> Iterator[Problem]:
    if not has_operator(node.op):
        try:
            find_operator(node.op)
        except GraphError as error:
            yield Problem(error.message, error.code, node.id)
        return
    operator = find_operator(node.op)
    if operator.devices and node.device not in operator.devices:
        yield Problem(f"runs on {' or '.join(operator.devices)}, not on {node.device}", "device_unsupported", node.id)
    try:
        check_input_count(operator, len(node.inputs))
    except GraphError as error:
        yield Problem(error.message, error.code, node.id)
    for index, edge in enumerate(node.inputs):
        yield from _edge_problems(graph, edge, node.id, None, index)
    table = operator.argument_table
    known_values = {}
    complete = True
    for name, value in node.arguments.items():
        arg = table.get(name)
        if arg is None:
            yield Problem(f"there is no argument '{name}'{nearest(name, table)}", "argument_unknown", node.id, name)
            continue
        try:
            known_values[name] = arg.canonical(value)
        except DaliLabError as error:
            complete = False
            yield Problem(error.message, error.code, node.id, name)
    for name, edge in node.connections.items():
        arg = table.get(name)
        if arg is None:
            yield Problem(f"there is no argument '{name}'{nearest(name, table)}", "argument_unknown", node.id, name)
        elif not arg.tensor:
            yield Problem("must be a constant; no node can be connected to it", "argument_constant", node.id, name)
        yield from _edge_problems(graph, edge, node.id, name, None)
    for name, arg in table.items():
        if arg.required and name not in node.arguments and name not in node.connections:
            complete = False
            yield Problem("must be given", "argument_missing", node.id, name)
    if complete:
        try:
            operator.check_arguments(known_values, node.connections, len(node.inputs))
        except DaliLabError as error:
            yield Problem(error.message, error.code, node.id, error.argument)
        except (TypeError, ValueError) as error:
            # An argument that takes any object may hold anything a file can hold.
            yield Problem(f"its arguments are not what they should be: {error}", "argument_type", node.id)


def _edge_problems(
    graph: Graph, edge: Edge, node: str | None, argument: str | None, index: int | None
) -> Iterator[Problem]:
    source = graph.nodes.get(edge.node)
    if not edge.node:
        message = f"{_place(graph, node, argument, index)} is not connected"
        yield Problem(message, "unconnected", node, argument, index)
        return
    if source is None:
        message = f"there is no node '{edge.node}'{nearest(edge.node, graph.nodes)}"
        yield Problem(message, "node_missing", node, argument, index, absent=edge.node)
        return
    if has_operator(source.op):
        count = find_operator(source.op).count_outputs(source.arguments, len(source.inputs))
        if edge.output >= count:
            plural = "s" if count != 1 else ""
            message = f"'{edge.node}' has {count} output{plural}, so there is no {edge}"
            yield Problem(message, "output_missing", node, argument, index)


def _place(graph: Graph, node: str | None, argument: str | None, index: int | None) -> str:
    """The input, argument or output that an edge leads to, in words."""
    if node is None or index is None:
        return "an output of the graph" if node is None else f"the argument '{argument}'"
    op = graph.nodes[node].op
    declared = find_operator(op).inputs if has_operator(op) else ()
    return f"input {index} ({declared[min(index, len(declared) - 1)].name})" if declared else f"input {index}"
