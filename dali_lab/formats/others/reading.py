"""The chain of pictures in a graph as steps that other libraries have too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dali_lab.formats.others import chance, colours, geometry, tones
from dali_lab.formats.others.draws import NoEquivalent, Reading, probability
from dali_lab.formats.others.step import Size, Step
from dali_lab.formats.others.translations import TRANSLATIONS
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model import dtypes
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import known_operator

_OF_BYTES = colours.OF_BYTES + tones.OF_BYTES


@dataclass
class Chain:
    """The part of a graph that a library has an equivalent for.

    Attributes
    ----------
    steps
        By node, in the order of the work.
    reader
        The node that reads the files, if it is one that reads a folder.
    refused
        Nodes that no step stands for, with the reason, in which ``{}`` is the name of the library.
    beside
        Nodes that have nothing to do with the pictures, such as those of labels.
    size
        Height and width of all pictures at the end, where they are the same.
    """

    steps: list[tuple[Node, Step]] = field(default_factory=list)
    reader: Node | None = None
    refused: list[tuple[Node, str]] = field(default_factory=list)
    beside: list[Node] = field(default_factory=list)
    size: Size | None = None


def read_chain(graph: Graph) -> Chain:
    """The steps from the source to the first output."""
    chain = Chain()
    used: set[str] = set()
    reader = _Walk(graph, chain, used)
    steps = reader.steps_to(graph.outputs[0]) if graph.outputs else []
    chain.steps = _joined(steps)
    for _, step in chain.steps:
        chain.size = step.resized(chain.size)
    pictures = {name for name in used if _decodes(graph, name)}
    for name, node in graph.nodes.items():
        if name in used:
            continue
        if pictures and not pictures & set(graph.ancestors([name])):
            chain.beside.append(node)
        else:
            chain.refused.append((node, "it is not part of one chain of images"))
    steering = {edge.node for node in graph.nodes.values() for edge in node.connections.values()}
    steering |= set(graph.ancestors(list(steering)))
    chain.beside = [node for node in chain.beside if node.id not in steering]
    return chain


class _Walk:
    """Goes from an output to the source and collects steps on the way back."""

    def __init__(self, graph: Graph, chain: Chain, used: set[str]) -> None:
        self.graph = graph
        self.chain = chain
        self.used = used

    def steps_to(self, edge: Edge, until: str = "") -> list[tuple[Node, Step]]:
        """The steps that make an edge, from the source on, or from the node `until` on."""
        path: list[Edge] = []
        whole: dict[str, Step] = {}
        while edge.node and edge.node != until:
            node = self.graph.nodes[edge.node]
            path.append(edge)
            self.used.add(node.id)
            if composed := self._composed(node):
                whole[node.id], edge, names = composed
                self.used |= names
            elif _operator(node).joins_scopes:
                split = self._split_of(node)
                edge = self.graph.nodes[split].inputs[0] if split else Edge("")
            else:
                edge = node.inputs[0] if node.inputs else Edge("")
        found: list[tuple[Node, Step]] = []
        size: Size | None = None
        of_bytes = True
        for each in reversed(path):
            node = self.graph.nodes[each.node]
            self.used |= {name for edge in node.connections.values() for name in self._steering(edge)}
            try:
                steps = [whole[node.id]] if node.id in whole else self._steps(node, size)
                if not of_bytes and any(isinstance(step, _OF_BYTES) for step in steps):
                    raise NoEquivalent("{} does so to pictures of uint8: put the cast behind it")
            except NoEquivalent as error:
                self.chain.refused.append((node, str(error)))
                continue
            for step in steps:
                found.append((node, step))
                size = step.resized(size)
                of_bytes = step.dtype == dtypes.UINT8 if isinstance(step, colours.Cast) else of_bytes
        return found

    def _composed(self, node: Node) -> tuple[Step, Edge, set[str]] | None:
        try:
            return tones.composed(self.graph, node)
        except NoEquivalent:
            return None  # its nodes are refused one by one

    def _steering(self, edge: Edge) -> set[str]:
        """The nodes that give an argument, where they are no pictures."""
        names = {edge.node, *self.graph.ancestors([edge.node])}
        return set() if any(_decodes(self.graph, name) for name in names) else names

    def _split_of(self, merge: Node) -> str:
        """The split that both branches of a condition begin at, empty where there is no one split."""
        ways = [set(self.graph.ancestors([edge.node])) | {edge.node} for edge in merge.inputs]
        splits = [
            name
            for name in ways[0] & ways[1]
            if _splits(self.graph.nodes[name]) and self.graph.nodes[name].connections == merge.connections
        ]
        return splits[0] if len(splits) == 1 else ""

    def _steps(self, node: Node, size: Size | None) -> list[Step]:
        if _operator(node).joins_scopes:
            return self._condition(node)
        operator = _operator(node)
        if operator.labelled_files:
            self.chain.reader = node
            return []
        if operator.fed or _splits(node):
            return []
        if node.op not in TRANSLATIONS:
            raise NoEquivalent("{} has no such transform")
        steps: list[Step] = []
        for step in TRANSLATIONS[node.op](Reading(self.graph, node)):
            if isinstance(step, geometry.Erase):
                step = replace(step, picture=size)
            variants = step.variants()
            steps.append(chance.OneOf(tuple(variants)) if variants else step)
        return steps

    def _condition(self, merge: Node) -> list[Step]:
        split = self._split_of(merge)
        if not split:
            raise NoEquivalent("its branches do not begin at one picture")
        self.used.add(split)
        share = probability(self.graph, merge.connections["predicate"])
        before = len(self.chain.refused)
        yes, no = (tuple(step for _, step in self.steps_to(edge, split)) for edge in merge.inputs)
        if len(self.chain.refused) > before or not (yes or no):
            return []
        if yes and no:
            raise NoEquivalent("something is done in both branches, and {} does something or nothing")
        return [chance.Sometimes(share, yes) if yes else chance.Sometimes(float(f"{1 - share:.9g}"), no)]


def _joined(steps: list[tuple[Node, Step]]) -> list[tuple[Node, Step]]:
    """A crop of a random area and the resize after it as one step."""
    result: list[tuple[Node, Step]] = []
    for node, step in steps:
        before = result[-1][1] if result else None
        if isinstance(step, geometry.Resize) and isinstance(before, geometry.AreaCrop):
            result[-1] = (node, geometry.ResizedCrop(step.size, before.area, before.ratio, step.interpolation))
        else:
            result.append((node, step))
    return result


def _operator(node: Node) -> type[Operator]:
    return known_operator(node.op) or Operator


def _decodes(graph: Graph, name: str) -> bool:
    return bool(_operator(graph.nodes[name]).whole_decoder)


def _splits(node: Node) -> bool:
    return _operator(node).cut_of_output(0) is not None
