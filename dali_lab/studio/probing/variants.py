"""A graph with and without some of its random steps, over parts of its labelled folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.schema.registry import find_operator
from dali_lab.studio.errors import DocumentError


@dataclass(frozen=True)
class Sample:
    """A file of the folder and its label."""

    file: str
    label: int


def reader_of(graph: Graph, output: Edge) -> Node:
    """The reader of labelled files that a picture comes from.

    Raises
    ------
    DocumentError
        If it does not come from one.
    """
    before = {output.node, *graph.ancestors([output.node])}
    readers = [graph.nodes[name] for name in before if find_operator(graph.nodes[name].op).source]
    readers = [node for node in readers if not find_operator(node.op).fed or len(readers) == 1]
    if len(readers) != 1 or not find_operator(readers[0].op).labelled_files:
        raise DocumentError(
            "A probe trains on a folder with a folder of pictures for each class: the pictures have to come from one "
            "'readers.file'.",
            "unsuitable",
        )
    return readers[0]


def random_steps(graph: Graph, output: Edge) -> list[str]:
    """The steps before an output whose result depends on chance, in the order of the work."""
    before = {output.node, *graph.ancestors([output.node])}
    drawn = {name for name in before if _draws(graph, name)}
    found = []
    for name in graph.order():
        node = graph.nodes[name]
        operator = find_operator(node.op)
        if name not in before or not node.inputs or operator.source or _makes_numbers(graph, name):
            continue
        if operator.random or any(edge.node in drawn for edge in node.connections.values()):
            found.append(name)
    return found


def _draws(graph: Graph, name: str) -> bool:
    """Whether a node gives random numbers and no pictures."""
    names = {name, *graph.ancestors([name])}
    chance = any(find_operator(graph.nodes[each].op).random for each in names)
    return chance and not any(find_operator(graph.nodes[each].op).source for each in names)


def _makes_numbers(graph: Graph, name: str) -> bool:
    """Whether a node is only about the numbers that are drawn."""
    names = {name, *graph.ancestors([name])}
    return not any(find_operator(graph.nodes[each].op).source for each in names)


def without(graph: Graph, names: Collection[str]) -> Graph:
    """The graph in which these steps do nothing by chance.

    Steps that also give pictures a size or a type keep that, with the middle in place of a random place; others pass
    on what they get.
    """
    passed: dict[str, Edge] = {}
    nodes = dict(graph.nodes)
    for name in names:
        node = nodes[name]
        operator = find_operator(node.op)
        op = operator.without_draws
        if op:
            table = find_operator(op).argument_table
            kept = {key: value for key, value in node.arguments.items() if key in table}
            nodes[name] = Node(name, op, node.device, node.inputs, kept, {}, node.origin)
        elif operator.joins_scopes or operator.cut_of_output(0) is not None:
            continue
        elif "crop" in operator.argument_table:
            nodes[name] = node.replaced(connections={})
        else:
            passed[name] = node.inputs[0]
    result = graph.replaced(nodes=nodes)

    def moved(edge: Edge) -> Edge:
        while edge.node in passed:
            edge = passed[edge.node]
        return edge

    result = result.rewired(moved).without(passed) if passed else result
    return result.replaced(outputs=tuple(map(moved, graph.outputs)))


def over(graph: Graph, output: Edge, reader: Node, samples: Sequence[Sample], *, shuffled: bool, batch: int) -> Graph:
    """The graph that gives the pictures of an output and their labels, for these samples."""
    root = reader.arguments.get("file_root")
    arguments = {
        **({"file_root": root} if root else {}),
        "files": tuple(sample.file for sample in samples),
        "labels": tuple(sample.label for sample in samples),
        "random_shuffle": False,
        **({"shuffle_after_epoch": True} if shuffled else {}),
    }
    nodes = {**graph.nodes, reader.id: reader.replaced(arguments=arguments, connections={})}
    found = graph.replaced(nodes=nodes, outputs=(output, Edge(reader.id, 1)))
    settings = {key: value for key, value in graph.pipeline.items() if key in ("num_threads", "gpu", "device_id")}
    names = {output.node, reader.id, *graph.ancestors([output.node])}
    return found.without([name for name in found.nodes if name not in names]).replaced(
        pipeline={**settings, "batch_size": batch}
    )


def split(samples: Sequence[Sample], most: int, seed: int) -> tuple[list[Sample], list[Sample]]:
    """Samples to train on and to measure with, about four to one in each class.

    Raises
    ------
    DocumentError
        If there are too few.
    """
    numbers = np.random.default_rng(seed)
    classes: dict[int, list[Sample]] = {}
    for sample in samples:
        classes.setdefault(sample.label, []).append(sample)
    classes = {label: found for label, found in classes.items() if len(found) >= 2}
    if len(classes) < 2:
        raise DocumentError(
            "A probe needs two classes with two pictures each, or more: a folder of pictures for each class.",
            "unsuitable",
        )
    each = max(2, most // len(classes))
    training, measured = [], []
    for _, found in sorted(classes.items()):
        chosen = [found[at] for at in numbers.permutation(len(found))[:each]]
        held = max(1, round(len(chosen) / 5))
        measured += chosen[:held]
        training += chosen[held:]
    return [training[at] for at in numbers.permutation(len(training))], measured
