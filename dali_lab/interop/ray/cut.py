"""Cuts a graph in two: a part for CPU machines, and the rest for the trainer, with the same random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.scopes import node_scopes
from dali_lab.graph.seeds import graph_seeds
from dali_lab.interop.ray.recipe import Recipe
from dali_lab.model.errors import ArgumentError, nearest


@dataclass(frozen=True)
class Cut:
    """A recipe in two parts.

    Attributes
    ----------
    first
        The part up to the cut; its columns are those of `rest`'s inputs, and outputs that are ready.
    rest
        The nodes behind the cut, with an external source for each column that they read.
    inputs
        Columns that the rest reads.
    """

    first: Recipe
    rest: Recipe
    inputs: tuple[str, ...]


def cut(recipe: Recipe, until: str | Sequence[str]) -> Cut:
    """Cut a graph behind some nodes: all that depends on them is the rest.

    Parameters
    ----------
    recipe
        The whole.
    until
        Name of the last node of the first part, or several.

    Raises
    ------
    ArgumentError
        If there is no such node, nothing is behind it, or the cut goes through a branch of a condition.
    """
    graph = recipe.graph
    names = [until] if isinstance(until, str) else list(until)
    for name in names:
        if name not in graph.nodes:
            raise ArgumentError(f"there is no node '{name}'{nearest(name, graph.nodes)}", argument="until")
    behind = set().union(*(graph.descendants(name) for name in names)) - set(names)
    if not behind:
        raise ArgumentError(f"nothing is behind {' and '.join(map(repr, names))}", argument="until")
    frozen = _with_seeds(graph, recipe.seed)
    crossing = list(
        dict.fromkeys(
            bare(edge)
            for name in frozen.nodes
            if name in behind
            for edge in frozen.nodes[name].edges()
            if edge.node not in behind
        )
    )
    scopes = node_scopes(graph)
    inside = [edge.node for edge in crossing if scopes.get(edge.node, 0)]
    if inside:
        raise ArgumentError(f"the cut goes through a branch of a condition, at '{inside[0]}'", argument="until")
    ready = [index for index, edge in enumerate(graph.outputs) if edge.node not in behind]
    late = [index for index, edge in enumerate(graph.outputs) if edge.node in behind]
    columns = tuple(f"cut_{edge.node}_{edge.output}" for edge in crossing)
    sources = {edge: Node(column, "external_source") for edge, column in zip(crossing, columns, strict=True)}

    def moved(edge: Edge) -> Edge:
        source = sources.get(bare(edge))
        return edge if source is None else Edge(source.id, 0, edge.device)

    first = frozen.replaced(
        nodes={name: node for name, node in frozen.nodes.items() if name not in behind},
        outputs=(*(graph.outputs[index] for index in ready), *crossing),
        view={},
    )
    rest = Graph(
        {
            **{source.id: source for source in sources.values()},
            **{name: node.rewired(moved) for name, node in frozen.nodes.items() if name in behind},
        },
        tuple(graph.outputs[index] for index in late),
        frozen.pipeline,
    )
    expectations = ("output_dtype", "output_ndim", "output_layout")
    plain = {name: value for name, value in recipe.settings.items() if name not in expectations}

    def part(graph: Graph, outputs: tuple[str, ...], crossing: tuple[str, ...] = ()) -> Recipe:
        return replace(recipe, graph=graph, settings=plain, columns=outputs, names={}, crossing=crossing)

    return Cut(
        part(first, (*(recipe.columns[index] for index in ready), *columns), columns),
        part(rest, tuple(recipe.columns[index] for index in late)),
        columns,
    )


def _with_seeds(graph: Graph, seed: int) -> Graph:
    """The graph with the seed of each node as its argument, so that a part of it draws the same numbers."""
    for name, own in graph_seeds(graph, seed).items():
        node = graph.nodes[name]
        graph = graph.with_node(node.replaced(arguments={**node.arguments, "seed": own}))
    return graph
