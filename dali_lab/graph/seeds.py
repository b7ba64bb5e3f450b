"""Seeds that NVIDIA DALI gives to the operators of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from dali_lab.graph.graph import Graph
from dali_lab.kernels.seed_sequence import seed_sequence
from dali_lab.schema.registry import find_operator, has_operator

SEED_WORDS = 1024
"""Number of distinct seeds a pipeline hands out; further operators start over from the first."""


def graph_seeds(graph: Graph, seed: int) -> dict[str, int]:
    """Seed of each node that takes one, as NVIDIA DALI assigns them.

    Nodes that no output needs come last, so that an unfinished graph in the editor has the seeds of the program made
    from it.
    """

    def inputs_of(name: str) -> list[str]:
        return [edge.node for edge in graph.nodes[name].edges() if edge.node in graph.nodes]

    preserved = [name for name, node in graph.nodes.items() if node.arguments.get("preserve")]
    outputs = [edge.node for edge in graph.outputs if edge.node in graph.nodes]
    order = seed_order([*outputs, *preserved], inputs_of)
    order = seed_order([*order, *graph.nodes], inputs_of)
    requests = []
    for name in order:
        node = graph.nodes[name]
        takes = has_operator(node.op) and not find_operator(node.op).argument_table["seed"].removed
        requests.append(SeedRequest(takes, node.arguments.get("seed"), node.arguments.get("_group")))
    assigned = assign_seeds(seed, requests)
    return {name: own for name, own in zip(order, assigned, strict=True) if own is not None}


@lru_cache(maxsize=64)
def pipeline_words(pipeline_seed: int) -> tuple[int, ...]:
    """The :data:`SEED_WORDS` words from which a pipeline with this seed gives seeds to its operators, in order."""
    return tuple(seed_sequence(pipeline_seed, SEED_WORDS))


@dataclass(frozen=True)
class SeedRequest:
    """One operator's input to :func:`assign_seeds`.

    Attributes
    ----------
    takes_seed
        Whether its declaration has the argument ``seed``.
    own
        Its explicit seed, or `None`. An explicit -1 is a seed like any other.
    group
        Shared by all nodes that one call with several input sets made; `None` for a node of its own.
    """

    takes_seed: bool
    own: int | None = None
    group: Hashable | None = None


def assign_seeds(pipeline_seed: int, requests: Iterable[SeedRequest]) -> list[int | None]:
    """The seed of each operator, `None` for those that take none.

    Each operator that takes a seed and has none of its own uses up one word. One with a seed of its own uses up
    none. Nodes of one `group` all get the seed of the first, but each of them uses up a word.

    Parameters
    ----------
    pipeline_seed
        The pipeline's seed; only its lower 32 bits matter.
    requests
        In the order of :func:`seed_order`.
    """
    words = pipeline_words(pipeline_seed)
    following = 0
    groups: dict[Hashable, int] = {}
    seeds: list[int | None] = []
    for request in requests:
        if not request.takes_seed:
            seeds.append(None)
            continue
        if request.own is not None:
            seed = request.own
            if request.group is not None:
                groups[request.group] = seed
        else:
            seed = words[following % SEED_WORDS]
            following += 1
            if request.group is not None:
                seed = groups.setdefault(request.group, seed)
        seeds.append(seed)
    return seeds


def seed_order(outputs: Iterable[str], inputs_of: Callable[[str], Iterable[str]]) -> list[str]:
    """The nodes in the order in which NVIDIA DALI gives them seeds: depth first from the outputs, inputs before users.

    Nodes that the outputs do not need are left out: in NVIDIA DALI they get no seed.

    Parameters
    ----------
    outputs
        Nodes of the pipeline's outputs in order, then the nodes that are preserved, in order of their creation.
    inputs_of
        The nodes that a node reads: its inputs in order, then the nodes connected to its arguments, sorted by the
        argument's name. Nodes that split a batch by a predicate read the value and then the predicate; those that merge
        it read the branches and then the predicate.
    """
    order: list[str] = []
    visited: set[str] = set()
    for output in outputs:
        if output in visited:
            continue
        visited.add(output)
        stack: list[tuple[str, Iterator[str]]] = [(output, iter(inputs_of(output)))]
        while stack:
            name, rest = stack[-1]
            for other in rest:
                if other not in visited:
                    visited.add(other)
                    stack.append((other, iter(inputs_of(other))))
                    break
            else:
                order.append(name)
                stack.pop()
    return order
