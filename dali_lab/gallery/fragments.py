"""Takes the augmentation out of an entry, and strings several of them together into a new graph."""

from __future__ import annotations

from collections.abc import Sequence

from dali_lab.gallery.entries import Entry
from dali_lab.graph.graph import Edge, Graph, unique_name
from dali_lab.model.errors import DaliLabError

CHAINED = ("colour", "geometry", "blur", "noise", "erase")
"""Families whose entries take a picture and give one."""


def fragment(entry: Entry) -> tuple[str, ...]:
    """The nodes that make up the augmentation: all but the nodes that give the picture as it was."""
    before = entry.graph.ancestors([entry.before.node]) if entry.before is not None else set()
    used = entry.graph.ancestors(edge.node for edge in entry.graph.outputs)
    return tuple(name for name in entry.graph.order() if name in used and name not in before)


def can_follow(entry: Entry) -> bool:
    """Whether an entry's augmentation takes one picture and gives one, as far as its graph says."""
    return (
        entry.family in CHAINED
        and entry.waiting is None
        and entry.before is not None
        and entry.before.output == 0
        and len(entry.graph.outputs) == 1
        and not entry.overlays
        and len(fragment(entry)) > 0
    )


def chain(first: Entry, others: Sequence[Entry]) -> Graph:
    """The graph of `first`, with the augmentations of `others` behind it.

    Raises
    ------
    DaliLabError
        If one of them does not take a picture and give one.
    """
    graph = first.graph
    for entry in others:
        if not can_follow(entry):
            raise DaliLabError(f"'{entry.name}' does not take one picture and give one")
        graph = follow(graph, entry)
    return graph


def follow(graph: Graph, entry: Entry) -> Graph:
    """`graph` with the augmentation of `entry` behind its first output."""
    end = graph.outputs[0]
    names: dict[str, str] = {}
    for name in fragment(entry):
        names[name] = unique_name(name, [*graph.nodes, *names.values()])

    def moved(edge: Edge) -> Edge:
        if edge == entry.before:
            return end
        if edge.node not in names:
            raise DaliLabError(f"'{entry.name}' uses '{edge.node}', which is not a part of its augmentation")
        return Edge(names[edge.node], edge.output, edge.device)

    nodes = dict(graph.nodes)
    for name in names:
        nodes[names[name]] = entry.graph.nodes[name].replaced(id=names[name], origin="").rewired(moved)
    return graph.replaced(nodes=nodes, outputs=(moved(entry.graph.outputs[0]),))
