"""The part of a graph that an export writes: the nodes that outputs need, finished and not switched off."""

from __future__ import annotations

from collections.abc import Callable

from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.switches import complete, without_off
from dali_lab.graph.verification import problems
from dali_lab.model.errors import FormatError, GraphError
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator, has_operator

MOST_PROBLEMS = 8
BEYOND_DALI = ("on_error", "max_error_rate")
"""Settings about bad samples, which NVIDIA DALI does not have."""
CACHING = ("cache", "cache_limit", "cache_at", "cache_epochs", "cache_checksum")
"""Settings about the cache, which NVIDIA DALI does not have."""


def left_out(graph: Graph) -> list[str]:
    """A sentence with the nodes that exports leave out because no output needs them, but for those switched off."""
    names = _unneeded(without_off(graph))
    return [f"left out, because no output needs it: {', '.join(names)}"] if names else []


def left_out_of_dali(graph: Graph) -> list[str]:
    """Features of a graph that NVIDIA DALI lacks, in sentences."""
    ends = [f"NVIDIA DALI ends at the first bad sample: {' and '.join(BEYOND_DALI)} have no effect there"]
    policy = graph.pipeline.get("on_error") in ("skip", "replace")
    arguments = [
        f"left out, because NVIDIA DALI has no such argument: {argument} of {node.id}"
        for node in graph.nodes.values()
        if has_operator(node.op)
        for argument, declared in find_operator(node.op).argument_table.items()
        if declared.beyond_dali and node.arguments.get(argument) is not None
    ]
    keeps = any(has_operator(node.op) and find_operator(node.op).keeps for node in graph.nodes.values())
    keeps = keeps or graph.pipeline.get("cache", "off") != "off"
    caches = ["NVIDIA DALI computes everything anew in each epoch: fn.cache and the setting cache are left out"]
    return [*left_out(graph), *(ends if policy else []), *(caches if keeps else []), *arguments]


def without_caches(graph: Graph) -> Graph:
    """The graph without ``cache`` nodes, which pass on what they get."""
    passed = {
        name: node.inputs[0] for name, node in graph.nodes.items() if node.inputs and find_operator(node.op).keeps
    }

    def moved(edge: Edge) -> Edge:
        device = edge.device
        while edge.node in passed:
            edge = passed[edge.node]
        return Edge(edge.node, edge.output, device or edge.device)

    return graph.rewired(moved).without(passed) if passed else graph


def _unneeded(graph: Graph) -> list[str]:
    kept_alive = [name for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    needed = graph.ancestors([*(edge.node for edge in graph.outputs), *kept_alive])
    return [name for name in graph.nodes if name not in needed]


def exported(graph: Graph) -> Graph:
    """The nodes that an export writes: those that an output needs and that are not switched off.

    Raises
    ------
    FormatError
        If there are no outputs, some are off, or nodes are unfinished; the message lists what is wrong.
    """
    try:
        graph = complete(graph)
    except GraphError as error:
        raise FormatError(error.message) from error
    graph = graph.without(_unneeded(graph))
    found = problems(graph)
    if found:
        shown = [
            f"{f'{item.node or item.argument}: ' if item.node or item.argument else ''}{item.message}"
            for item in found[:MOST_PROBLEMS]
        ]
        more = f"\n  … and {len(found) - MOST_PROBLEMS} more" if len(found) > MOST_PROBLEMS else ""
        raise FormatError("the graph is not finished:\n  " + "\n  ".join(shown) + more)
    if not graph.nodes:
        raise FormatError("the graph has no outputs")
    return graph


def named(node: str, op: str) -> str:
    """A node in a list of reasons: its operator is said where its name does not say it."""
    return node if node == op else f"{node} ({op})"


def refuse(graph: Graph, unsuitable: Callable[[type[Operator]], str], target: str) -> None:
    """Raise if there are operators that the target does not have.

    Parameters
    ----------
    unsuitable
        Gives the reason, or an empty text.
    target
        Name of the target.

    Raises
    ------
    FormatError
        With the list of nodes.
    """
    lines = []
    for name, node in graph.nodes.items():
        if has_operator(node.op) and (reason := unsuitable(find_operator(node.op))):
            lines.append(f"{named(name, node.op)}: {reason}")
    if lines:
        raise FormatError(f"{target} has no equivalent for:\n  " + "\n  ".join(lines))
