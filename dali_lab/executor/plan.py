"""Plans a graph for the engine: makes the operators, and groups nodes into stages without inner barriers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.scopes import branches_of_scopes, node_scopes
from dali_lab.model.errors import DaliLabError, GraphError, OperatorError
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator

if TYPE_CHECKING:
    from dali_lab.device.interface import Device
    from dali_lab.executor.caching.recall import CachedSteps


COMPUTE = "compute"
DECODE = "decode"


@dataclass
class Step:
    """One node with its operator, ready to run.

    Attributes
    ----------
    scope
        Number of the group of samples it works on.
    taker
        The only consumer of its output, if it takes undecoded pictures.
    inputs, connections, needed
        The edges of its inputs, of its arguments, and both, without devices.
    """

    node: Node
    operator: Operator
    outputs: int
    scope: int
    gpu: bool = False
    taker: Operator | None = None
    inputs: list[Edge] = field(init=False)
    connections: dict[str, Edge] = field(init=False)
    needed: list[Edge] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = [bare(edge) for edge in self.node.inputs]
        self.connections = {name: bare(edge) for name, edge in self.node.connections.items()}
        self.needed = [*self.inputs, *self.connections.values()]

    @property
    def gives_numbers(self) -> bool:
        """Whether it gives a number for each sample that depends on nothing but its place, as random operators do."""
        return self.operator.makes_numbers and not self.needed and self.operator.values.get("shape") is None

    @property
    def stream(self) -> str:
        """The device stream that it runs on: decoders have their own, to run ahead of the kernels."""
        return DECODE if self.node.device == "mixed" else COMPUTE


@dataclass
class Stage:
    """Nodes that run one after the other on a chunk of the batch, or one node that needs the whole batch.

    Attributes
    ----------
    steps
        In dependency order.
    whole
        Whether the steps see the whole batch at once.
    scope
        Which group of samples they work on: 0 for the batch itself, others for the branches of conditionals.
    exports
        Edges used outside the stage.
    gpu
        Whether the steps run on the plan's device, on the whole batch.
    branches
        For a branch of a conditional: the conditions that lead to it, from the outermost, and the side of each (0 where
        it holds, 1 where not).
    kept
        The first steps, if a cache keeps their results.
    plain
        The steps as they would be without a cache, if that is another way to the same results.
    """

    steps: list[Step]
    whole: bool
    scope: int
    exports: list[Edge] = field(default_factory=list)
    gpu: bool = False
    branches: Sequence[tuple[Edge, int]] = ()
    kept: CachedSteps | None = None
    plain: list[Step] = field(default_factory=list)

    @property
    def in_order(self) -> bool:
        """Whether a batch must have left before the next one may enter."""
        return any(step.operator.in_order for step in self.steps)

    def steps_of(self, plain: bool) -> list[Step]:
        """The steps of a chunk that is computed with the cache, or without."""
        return self.plain if plain else self.steps

    def blamed(self, error: BaseException, step: Step) -> Step:
        """The step responsible for an error raised in `step`."""
        node = getattr(error, "node", None)
        return next((other for other in self.steps if other.node.id == node), step)


@dataclass
class Plan:
    """A graph made ready to run.

    Attributes
    ----------
    graph
        The graph as it is run.
    stages
        In dependency order.
    outputs
        Edges to compute, taps included.
    sources
        Steps without inputs whose samples are drawn in order.
    known
        Edges whose batches are given instead of computed.
    device
        Where nodes placed on a GPU run; `None` runs them on the CPU.
    """

    graph: Graph
    stages: list[Stage]
    outputs: tuple[Edge, ...]
    sources: list[Step]
    known: frozenset[Edge]
    device: Device | None = None

    def steps(self) -> list[Step]:
        """All steps in order."""
        return [step for stage in self.stages for step in stage.steps]

    def operators_with_state(self, seeded: Collection[str]) -> dict[str, str]:
        """Operator of each node that checkpoints tell of: sources, and those in `seeded`."""
        return {step.node.id: step.node.op for step in self.steps() if step.operator.source or step.node.id in seeded}

    def close(self) -> None:
        """Release the operators' resources."""
        plain = [step for stage in self.stages for step in stage.plain]
        for operator in {id(step.operator): step.operator for step in (*self.steps(), *plain)}.values():
            operator.close()


def runs_on_gpu(node: Node, operator: Operator, device: Device) -> bool:
    """Whether a node runs on the plan's device; others run on the CPU, with copies around them where needed."""
    if node.device not in ("gpu", "mixed") or operator.source or (node.device == "mixed" and not device.decodes):
        return False
    return not operator.on_cpu_only(operator.values)


def make_operator(node: Node) -> Operator:
    """The operator of a node, set up.

    Raises
    ------
    DaliLabError
        With the node's name and the user's line.
    """
    kind = find_operator(node.op)
    try:
        values = {k: v for k, v in node.arguments.items() if k not in ("name", "preserve", "on_error")}
        return kind(values, node.connections, node.id, node.device)
    except DaliLabError as error:
        error.locate(node.id, node.op, node.origin)
        raise
    except MemoryError as error:
        raise OperatorError(
            f"there is not enough memory for its tables: {error}",
            node=node.id,
            operator=node.op,
            origin=node.origin or None,
        ) from error


def make_plan(
    graph: Graph,
    outputs: Sequence[Edge] | None = None,
    known: Collection[Edge] = (),
    operators: Mapping[str, Operator] | None = None,
    device: Device | None = None,
) -> Plan:
    """Plan the computation of some edges of a graph.

    Parameters
    ----------
    graph
        A verified graph.
    outputs
        Edges to compute; by default the graph's outputs. Taps are just more of them.
    known
        Edges whose batches will be given; nothing upstream of them runs.
    operators
        Operators to reuse, by node.
    device
        Where nodes placed on a GPU run; `None` runs them on the CPU.

    Raises
    ------
    GraphError
        If there is a cycle, or an edge leads nowhere.
    """
    wanted = tuple(bare(edge) for edge in (graph.outputs if outputs is None else outputs))
    given = frozenset(bare(edge) for edge in known)
    preserved = [Edge(name) for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    keep = _needed(graph, wanted if outputs is not None else (*wanted, *preserved), given)
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
        gpu = device is not None and runs_on_gpu(node, operator, device)
        step = Step(node, operator, operator.count_outputs(operator.values, len(node.inputs)), scope, gpu)
        steps[name] = step
        level = 0
        for edge in edges:
            if edge in given or edge.node not in steps:
                continue
            source = steps[edge.node]
            made_whole = source.operator.whole_batch or source.gpu
            other = source.gpu != gpu or (gpu and source.stream != step.stream)
            behind = made_whole and (other or not (operator.whole_batch or gpu))
            behind = behind or (gpu and source.scope != scope)
            level = max(level, levels[edge.node] + behind)
        levels[name] = level
        # A node that needs the whole batch is its own stage, in graph order, after the chunks of its level.
        # Consecutive GPU nodes with no other dependency in between form one stage, after all others of their level.
        turn = len(order) + 1 + (step.stream == DECODE) if gpu else place if operator.whole_batch else 0
        grouped.setdefault((level, turn, scope), []).append(step)
    branches = branches_of_scopes(graph) if any(scopes.values()) else {0: []}
    stages = [
        Stage(group, whole > 0, scope, gpu=group[0].gpu, branches=branches[scope])
        for (_, whole, scope), group in sorted(grouped.items(), key=lambda item: (item[0][0], item[0][1]))
    ]
    _find_exports(stages, wanted)
    _find_deferring(stages)
    return Plan(graph, stages, wanted, [steps[n] for n in order if steps[n].operator.source], given, device)


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


def _find_deferring(stages: list[Stage]) -> None:
    """Let a step defer its work to the next step where that is the only consumer."""
    for stage in stages:
        if stage.gpu or stage.whole:
            continue
        edges = [edge for step in stage.steps for edge in step.needed]
        for step in stage.steps:
            edge = Edge(step.node.id, 0)
            if not step.operator.defers or edge in stage.exports or edges.count(edge) != 1:
                continue
            takers = [other for other in stage.steps if other.operator.takes_undecoded and other.inputs]
            step.taker = next((other.operator for other in takers if other.inputs[0] == edge), None)


def _find_exports(stages: list[Stage], wanted: Sequence[Edge]) -> None:
    home = {step.node.id: index for index, stage in enumerate(stages) for step in stage.steps}
    exports: list[dict[Edge, None]] = [{} for _ in stages]
    for edge in wanted:
        if edge.node in home:
            exports[home[edge.node]][edge] = None
    for index, stage in enumerate(stages):
        for step in stage.steps:
            for edge in step.needed:
                if edge.node in home and home[edge.node] != index:
                    exports[home[edge.node]][edge] = None
    for stage, edges in zip(stages, exports, strict=True):
        stage.exports = list(edges)
