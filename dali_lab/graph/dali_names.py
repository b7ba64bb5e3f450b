"""NVIDIA DALI's names of operators and outputs, in serialized pipelines and in checkpoints."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.registry import known_operator

Names = Mapping[str, str]
"""NVIDIA DALI's names of operators by node; a node that is not listed keeps its own name."""


def schema_name(op: str) -> str:
    """The name of an operator's schema: ``decoders__Image``; an unknown operator's is its own."""
    operator = known_operator(op)
    if operator is None:
        return op
    return "_ArithmeticGenericOp" if operator.syntax == "arithmetic" else operator.schema_name


def made_up_name(op: str, number: int) -> str:
    """The name NVIDIA DALI makes up for an operator without one: ``__Image_3``."""
    schema = schema_name(op)
    return f"__{schema.rpartition('__')[2] or schema}_{number}"


def operator_names(node: Node, names: Names) -> list[str]:
    """The names of a node's operators: an external source with `num_outputs` is one for each, all others are one."""
    name = names.get(node.id, node.id)
    if not _is_several(node):
        return [name]
    base, _, number = name.rpartition("_")
    count = int(node.arguments["num_outputs"])
    if node.id in names and number.isdigit():
        return [f"{base}_{int(number) + index}" for index in range(count)]
    return [f"{name}_{index}" for index in range(count)]


def distinct_names(graph: Graph, names: Names) -> Names:
    """The names, with others for external sources of several outputs whose operators would be called like a node."""
    result = dict(names)
    for node in filter(_is_several, graph.nodes.values()):
        taken = {result.get(other, other) for other in graph.nodes if other != node.id}
        tries = (f"{node.id}_output{number}_0" for number in itertools.chain([""], itertools.count(2)))
        while not taken.isdisjoint(operator_names(node, result)):
            result[node.id] = next(tries)
    return result


def _is_several(node: Node) -> bool:
    """Whether a node is an external source that is several operators in NVIDIA DALI."""
    operator = known_operator(node.op)
    return operator is not None and operator.one_for_each_output(node.arguments)


def count_outputs(graph: Graph, node: Node) -> int:
    """Outputs of a node; of one with an unknown operator, as many as are used, and one at least."""
    if (operator := known_operator(node.op)) is not None:
        return int(operator.count_outputs(node.arguments, len(node.inputs)))
    return max((edge.output + 1 for edge in graph.edges() if edge.node == node.id), default=1)


def output_name(graph: Graph, edge: Edge, names: Names) -> str:
    """The name of an edge's batch: the operator's, with the output's number where there are several."""
    node = graph.nodes.get(edge.node)
    if node is None:
        return edge.node
    operators = operator_names(node, names)
    if _is_several(node):
        return operators[edge.output] if edge.output < len(operators) else f"{operators[0]}[{edge.output}]"
    return f"{operators[0]}[{edge.output}]" if count_outputs(graph, node) > 1 else operators[0]
