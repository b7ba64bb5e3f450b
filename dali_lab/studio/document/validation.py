"""Problems of a document, as protocol messages, and the nodes that can be computed in spite of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.verification import Problem, problems
from dali_lab.model.errors import GraphError
from dali_lab.model.references import PythonReference
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.document.graph_document import Draft, draft, edge_of
from dali_lab.studio.document.instances import Instances
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.protocol.documents import Document
from dali_lab.studio.protocol.values import Permission


@dataclass
class CheckedDocument:
    """The result of checking a document.

    Attributes
    ----------
    draft
        The graph in it.
    runnable
        The nodes that can be computed, as a graph; its outputs are those that can.
    blocked
        Nodes that cannot be computed because of their own problems, with these.
    waiting
        Nodes that cannot be computed because another one cannot, with that one.
    problems
        Everything that is wrong.
    missing
        Of these, the outputs of the pipeline that are off since a node is switched off.
    permissions
        Of these, the ones that the person can allow, with the permission for it.
    """

    draft: Draft
    runnable: Graph
    blocked: dict[str, Problem] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    permissions: dict[Problem, Permission | None] = field(default_factory=dict)

    @property
    def instances(self) -> Instances:
        """The nodes that are sub-graphs."""
        return Instances(self.draft.instances)

    @property
    def complete(self) -> bool:
        """Whether the graph can run as it is."""
        return bool(self.runnable.outputs) and not any(problem.severity == "error" for problem in self.problems)

    @property
    def unmarked(self) -> bool:
        """Whether the document marks no output of the pipeline."""
        return not self.draft.graph.outputs and not self.missing

    def with_ends(self) -> tuple[Graph, str | None]:
        """The graph that can be computed, with its last nodes as outputs where it has none, and a note of that."""
        graph = self.runnable
        if graph.outputs or not graph.nodes:
            return graph, None
        used = {edge.node for edge in graph.edges()}
        ends = tuple(name for name in graph.nodes if name not in used)
        note = f"No outputs are marked, so the last nodes are returned: {', '.join(ends)}."
        return graph.replaced(outputs=tuple(Edge(name) for name in ends)), note


def check(document: Document, permissions: Permissions | None = None) -> CheckedDocument:
    """Check a document, and that it keeps to `permissions`, if given; never fails on what a person can draw."""
    found = draft(document, None if permissions is None else permissions.objects)
    graph = found.graph
    blocked: dict[str, Problem] = {}
    listed: list[Problem] = []
    off = found.switched.off
    absent = {**found.unfinished, **off}
    for name, (message, index) in found.unfinished.items():
        problem = Problem(message, "unconnected", name, None, index, "warning")
        listed.append(problem)
        blocked[name] = problem
    for problem in problems(graph):
        if problem.absent in absent:
            continue  # it only says that an edge leads to a node that is unfinished or off
        unread = _lacks_data(graph, problem)
        if unread:
            problem = replace(problem, severity="warning")
        listed.append(problem)
        if problem.node is not None and (unread or problem.severity == "error"):
            blocked.setdefault(problem.node, problem)
    lacking = dict(permissions.problems(graph)) if permissions is not None else {}
    for problem in lacking:
        listed.append(problem)
        blocked.setdefault(str(problem.node), problem)
    listed += _nameless(graph)
    missing = _missing_outputs(document, found)
    listed += missing
    waiting = {name: cause for name, cause in off.items() if name != cause}
    for name in _in_circles(graph, listed):
        blocked.setdefault(name, Problem("This node is part of a circle.", "circle", name))
    good = _runnable(graph, blocked, waiting)
    outputs = tuple(edge for edge in graph.outputs if edge.node in good)
    checked = CheckedDocument(
        found, graph.replaced(nodes=good, outputs=outputs), blocked, waiting, listed, missing, lacking
    )
    if checked.unmarked and graph.nodes:
        listed.append(Problem("Nothing is marked as an output of the pipeline.", "no_outputs", severity="info"))
    return checked


def _lacks_data(graph: Graph, problem: Problem) -> bool:
    """Whether a reader only waits for its folder or file, as one does that was just added."""
    node = graph.nodes.get(problem.node or "")
    if node is None or problem.code != "argument_missing":
        return False
    return has_operator(node.op) and find_operator(node.op).source


def _missing_outputs(document: Document, found: Draft) -> list[Problem]:
    """The outputs that are off, with the node that is the cause; numbers count from 1, as on the canvas."""
    missing = []
    for number, reference in enumerate(document["outputs"], 1):
        cause = found.switched.cause(edge_of(reference))
        if cause is not None:
            message = f"Output {number} ({reference}) is left out: {found.switched.reason(cause)}"
            missing.append(Problem(message, "output_off", cause, severity="warning"))
    return missing


def _nameless(graph: Graph) -> list[Problem]:
    """Arguments that stand for Python objects which no name leads to; exports leave functions to write for them."""
    message = "this Python object has no name that it can be imported by: write 'module:name'"
    return [
        Problem(message, "object_unnamed", name, key, severity="warning")
        for name, node in graph.nodes.items()
        for key, value in node.arguments.items()
        if isinstance(value, PythonReference) and value.name is None
    ]


def _in_circles(graph: Graph, listed: list[Problem]) -> set[str]:
    """Nodes that feed themselves."""
    try:
        graph.order()
        return set()
    except GraphError:
        pass
    left = dict(graph.nodes)
    while True:
        free = [name for name, node in left.items() if not any(edge.node in left for edge in node.edges())]
        used = {edge.node for node in left.values() for edge in node.edges()}
        free += [name for name in left if name not in used and name not in free]
        if not free:
            return set(left)
        for name in free:
            left.pop(name, None)


def _runnable(graph: Graph, blocked: dict[str, Problem], waiting: dict[str, str]) -> dict[str, Any]:
    good: dict[str, Any] = {}
    left = {name: node for name, node in graph.nodes.items() if name not in blocked and name not in waiting}
    grew = True
    while grew:
        grew = False
        for name, node in list(left.items()):
            if all(edge.node in good for edge in node.edges()):
                good[name] = left.pop(name)
                grew = True
    for name, node in left.items():
        waiting[name] = next(edge.node for edge in node.edges() if edge.node not in good)
    # Nodes keep the order of the document: seeds depend on it.
    return {name: node for name, node in graph.nodes.items() if name in good}
