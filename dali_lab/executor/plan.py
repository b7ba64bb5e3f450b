"""From a graph to what the engine runs: operators made, and nodes put into stages without a barrier inside."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dali_lab.errors import DaliLabError, GraphError
from dali_lab.executor.scopes import node_scopes
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator


@dataclass
class Step:
    """One node with its operator, ready to run."""

    node: Node
    operator: Operator
    outputs: int
    scope: int


@dataclass
class Stage:
    """Nodes that run one after the other on a chunk of the batch, or one node that needs the whole batch.

    Attributes
    ----------
    steps
        In an order in which they can run.
    whole
        The steps see the whole batch at once.
    scope
        Which group of samples they work on: 0 for the batch itself, others for the branches of conditionals.
    exports
        Edges that something outside the stage uses.
    """

    steps: list[Step]
    whole: bool
    scope: int
    exports: list[Edge] = field(default_factory=list)

    @property
    def in_order(self) -> bool:
        """Whether a batch must have left before the next one may enter."""
        return any(step.operator.in_order for step in self.steps)


@dataclass
class Plan:
    """What the engine runs.

    Attributes
    ----------
    graph
        The graph as it is run.
    stages
        In an order in which they can run.
    outputs
        Edges wanted at the end, taps included.
    sources
        Steps without inputs whose samples are drawn in order.
    known
        Edges whose batches are given instead of computed.
    """

    graph: Graph
    stages: list[Stage]
    outputs: tuple[Edge, ...]
    sources: list[Step]
    known: frozenset[Edge]

    def steps(self) -> list[Step]:
        """All steps in order."""
        return [step for stage in self.stages for step in stage.steps]

    def close(self) -> None:
        """Give up what the operators hold."""
        for step in self.steps():
            step.operator.close()


def bare(edge: Edge) -> Edge:
    """The edge without its device."""
    return Edge(edge.node, edge.output) if edge.device else edge


def make_operator(node: Node) -> Operator:
    """The operator of a node, set up.

    Raises
    ------
    DaliLabError
        With the node's name and the user's line.
    """
    kind = find_operator(node.op)
    try:
        values = {k: v for k, v in node.arguments.items() if k not in ("name", "preserve")}
        return kind(values, node.connections, node.id, node.device)
    except DaliLabError as error:
        error.node = error.node or node.id
        error.operator = error.operator or node.op
        error.origin = error.origin or node.origin or None
        raise


def make_plan(
    graph: Graph,
    outputs: Sequence[Edge] | None = None,
    known: Collection[Edge] = (),
    operators: Mapping[str, Operator] | None = None,
) -> Plan:
    """Plan the computation of some edges of a graph.

    Parameters
    ----------
    graph
        A verified graph.
    outputs
        Edges to compute; by default the graph's outputs. Taps are just more of them.
    known
        Edges whose batches will be given; nothing before them is run.
    operators
        Operators to use again instead of making new ones, by node.

    Raises
    ------
    GraphError
        If there is a cycle, or an edge leads nowhere.
    """
    wanted = tuple(bare(edge) for edge in (graph.outputs if outputs is None else outputs))
    given = frozenset(bare(edge) for edge in known)
    keep = _needed(graph, wanted, given)
    order = [name for name in graph.order() if name in keep]
    kept_alive = [name for name, node in graph.nodes.items() if node.arguments.get("preserve") and outputs is None]
    if any(name not in keep for name in kept_alive):
        keep |= graph.ancestors(kept_alive)
        order = [name for name in graph.order() if name in keep]
    steps: dict[str, Step] = {}
    scopes = node_scopes(graph)
    levels: dict[str, int] = {}
    grouped: dict[tuple[int, int, int], list[Step]] = {}
    for place, name in enumerate(order, 1):
        node = graph.nodes[name]
        operator = operators[name] if operators and name in operators else make_operator(node)
        edges = [bare(edge) for edge in node.edges()]
        scope = scopes[name]
        step = Step(node, operator, operator.count_outputs(operator.values, len(node.inputs)), scope)
        steps[name] = step
        level = 0
        for edge in edges:
            if edge in given or edge.node not in steps:
                continue
            made_whole = steps[edge.node].operator.whole_batch
            level = max(level, levels[edge.node] + (1 if made_whole and not operator.whole_batch else 0))
        levels[name] = level
        # A node that needs the whole batch is a stage of its own, in the order of the graph, after its level's chunks.
        grouped.setdefault((level, place if operator.whole_batch else 0, scope), []).append(step)
    stages = [
        Stage(group, whole > 0, scope)
        for (_, whole, scope), group in sorted(grouped.items(), key=lambda item: (item[0][0], item[0][1]))
    ]
    _find_exports(stages, wanted)
    return Plan(graph, stages, wanted, [steps[n] for n in order if steps[n].operator.source], given)


def _needed(graph: Graph, wanted: Sequence[Edge], given: frozenset[Edge]) -> set[str]:
    keep: set[str] = set()
    stack = [edge for edge in wanted if edge not in given]
    while stack:
        edge = stack.pop()
        if edge.node not in graph.nodes:
            raise GraphError(f"there is no node '{edge.node}'")
        if edge.node in keep:
            continue
        keep.add(edge.node)
        stack.extend(bare(other) for other in graph.nodes[edge.node].edges() if bare(other) not in given)
    return keep


def _find_exports(stages: list[Stage], wanted: Sequence[Edge]) -> None:
    home = {step.node.id: index for index, stage in enumerate(stages) for step in stage.steps}
    exports: list[dict[Edge, None]] = [{} for _ in stages]
    for edge in wanted:
        if edge.node in home:
            exports[home[edge.node]][edge] = None
    for index, stage in enumerate(stages):
        for step in stage.steps:
            for edge in map(bare, step.node.edges()):
                if edge.node in home and home[edge.node] != index:
                    exports[home[edge.node]][edge] = None
    for stage, edges in zip(stages, exports, strict=True):
        stage.exports = list(edges)
