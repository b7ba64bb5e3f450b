"""The two graphs of a packed dataset: the one that computes what is packed, and the one that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dali_lab.graph.graph import Edge, Graph, Node, bare
from dali_lab.graph.naming import free_name
from dali_lab.graph.passes.once import cached_part, with_caches
from dali_lab.model.dtypes import FLOAT, UINT8
from dali_lab.model.errors import GraphError
from dali_lab.operators.readers.list_reader import ListReader
from dali_lab.packing.components import Component
from dali_lab.packing.shards import shard_path
from dali_lab.schema.registry import find_operator, has_operator

_KEPT = ("random_shuffle", "initial_fill", "num_shards", "shard_id", "stick_to_shard", "pad_last_batch")
"""Arguments of the reader that the reader of the shards gets, too."""
_ORDER = (*_KEPT, "shuffle_after_epoch", "shuffle_after_epoch_seed", "lazy_init")
_OF_A_RUN = ("cache", "cache_limit", "cache_at", "cache_epochs", "cache_checksum", "checkpoint", "enable_checkpointing")
_OF_OUTPUTS = ("output_dtype", "output_ndim", "output_layout")
_SIZES = ("size", "resize_x", "resize_y", "resize_shorter", "resize_longer", "crop", "crop_w", "crop_h")


@dataclass(frozen=True)
class Cut:
    """A graph, cut where its samples are packed.

    Attributes
    ----------
    graph
        The whole graph, with a node of its own behind each place.
    nodes
        Names of the nodes before the cut.
    sources
        The readers among them.
    edges
        The edges that cross the cut.
    computing
        The graph that computes the samples of these edges, whose readers give all samples in line.
    pictures
        Of each edge whether its samples are pictures that are encoded anew.
    """

    graph: Graph
    nodes: tuple[str, ...]
    sources: tuple[str, ...]
    edges: tuple[Edge, ...]
    computing: Graph
    pictures: tuple[bool, ...]

    @property
    def shuffled(self) -> bool:
        """Whether a reader draws in random order."""
        return any(self.graph.nodes[name].arguments.get("random_shuffle") for name in self.sources)

    def names(self) -> tuple[str, ...]:
        """A name for each edge, from the outputs of operators."""
        found: list[str] = []
        for edge in self.edges:
            origin = self.origin(edge)
            outputs = find_operator(self.graph.nodes[origin.node].op).outputs
            name = outputs[origin.output].name if len(outputs) > 1 and origin.output < len(outputs) else origin.node
            name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name.lower())
            found.append(f"{name}_{len(found)}" if name in found else name)
        return tuple(found)

    def encoded(self) -> tuple[bool, ...]:
        """For each edge, whether its samples are the bytes of files."""
        decoded = {
            self.origin(bare(node.inputs[0]))
            for node in self.graph.nodes.values()
            if node.inputs and find_operator(node.op).inputs and find_operator(node.op).inputs[0].kind == "encoded"
        }
        found = []
        for edge, picture in zip(self.edges, self.pictures, strict=True):
            origin = self.origin(edge)
            outputs = find_operator(self.graph.nodes[origin.node].op).outputs
            declared = origin.output < len(outputs) and outputs[origin.output].kind == "encoded"
            found.append(picture or declared or origin in decoded)
        return tuple(found)

    def origin(self, edge: Edge) -> Edge:
        """The edge whose samples a node behind a place passes on."""
        while find_operator(self.graph.nodes[edge.node].op).keeps:
            edge = bare(self.graph.nodes[edge.node].inputs[0])
        return edge

    def reading(self, folder: Path, shards: Sequence[int], components: Sequence[Component]) -> Graph:
        """The graph that reads the shards, and goes on as the whole graph does."""
        form = components[0].form
        paths = [str(shard_path(folder, number, form)) for number in shards]
        indexes = [str(shard_path(folder, number, form).with_suffix(".idx")) for number in shards]
        reader = self.graph.nodes[self.sources[0]]
        arguments: dict[str, Any] = {
            name: reader.arguments[name]
            for name in _KEPT
            if name in reader.arguments and name not in reader.connections
        }
        if form == "webdataset":
            arguments |= {"paths": paths, "index_paths": indexes, "ext": [each.extensions for each in components]}
            if any(each.read_as is not UINT8 for each in components):
                arguments["dtypes"] = [each.read_as for each in components]
            arguments["missing_component_behavior"] = "error"
            source = Node(reader.id, "readers.webdataset", arguments=arguments)
        else:
            arguments |= {"path": paths, "index_path": indexes}
            arguments |= {"features": [each.feature for each in components]}
            arguments["feature_names"] = [each.name for each in components]
            source = Node(reader.id, "readers.tfrecord", arguments=arguments)
        rest = self.graph.without(self.nodes)
        nodes = {source.id: source}
        taken = {*rest.nodes, source.id}
        moved: dict[Edge, Edge] = {}

        def free(wanted: str) -> str:
            name = free_name(taken, wanted)
            taken.add(name)
            return name

        for output, (edge, component) in enumerate(zip(self.edges, components, strict=True)):
            added = component.nodes(Edge(source.id, output), free)
            nodes.update({node.id: node for node in added})
            moved[edge] = Edge(added[-1].id) if added else Edge(source.id, output)

        def rewire(edge: Edge) -> Edge:
            new = moved.get(bare(edge))
            return edge if new is None else Edge(new.node, new.output, edge.device)

        rest = rest.rewired(rewire)
        settings = {name: value for name, value in rest.pipeline.items() if name not in _OF_A_RUN}
        return rest.replaced(nodes={**nodes, **rest.nodes}, pipeline=settings, view={})


def cut(graph: Graph, at: str | None, small: int | None = None) -> Cut:
    """Cut a graph where its samples are packed.

    Parameters
    ----------
    graph
        A verified graph.
    at
        The node whose outputs are packed; by default the reader.
    small
        Pictures are encoded anew, with so many pixels on their shorter side at most; goes with a cut at the reader.

    Raises
    ------
    GraphError
        If what is to be packed differs between epochs, or there is no reader, or more than one.
    """
    graph = graph.replaced(pipeline={key: value for key, value in graph.pipeline.items() if key not in _OF_A_RUN})
    if at is None:
        at = _only_reader(graph)
    elif small is not None and not _is_reader(graph.nodes.get(at)):
        raise GraphError(f"smaller pictures are packed at the reader, and '{at}' is none", node=at)
    marked = with_caches(graph, at)
    part = cached_part(marked)
    if part is None:
        raise GraphError(f"'{at}' depends on no reader", node=at)
    computing = marked.replaced(
        nodes={name: _in_line(marked.nodes[name]) for name in part.nodes},
        outputs=part.exports,
        pipeline={key: value for key, value in marked.pipeline.items() if key not in _OF_OUTPUTS},
        view={},
    )
    plain = Cut(marked, part.nodes, part.sources, part.exports, computing, (False,) * len(part.exports))
    return plain if small is None else _with_small_pictures(plain, small)


def _is_reader(node: Node | None) -> bool:
    return node is not None and has_operator(node.op) and issubclass(find_operator(node.op), ListReader)


def _only_reader(graph: Graph) -> str:
    needed = graph.ancestors(edge.node for edge in graph.outputs)
    readers = [name for name, node in graph.nodes.items() if name in needed and _is_reader(node)]
    if len(readers) != 1:
        found = "no reader with a list of samples" if not readers else f"several readers: {', '.join(readers)}"
        raise GraphError(f"it is not clear what to pack: the graph has {found}. Name a node with at")
    return readers[0]


def _in_line(node: Node) -> Node:
    """A reader that gives all samples in the order of its list; other nodes as they are."""
    if not _is_reader(node):
        return node
    return node.replaced(arguments={key: value for key, value in node.arguments.items() if key not in _ORDER})


# -- smaller pictures ---------------------------------------------------------------------------------------------


def _decoders(graph: Graph, source: str) -> list[Node]:
    """The nodes that decode pictures of a reader."""
    return [
        node
        for node in graph.nodes.values()
        if find_operator(node.op).whole_decoder and source in graph.ancestors([node.inputs[0].node])
    ]


def asked_size(graph: Graph) -> int | None:
    """The largest size in pixels to which pictures are resized or cropped; `None` where constants do not tell."""
    found: list[float] = []
    for node in graph.nodes.values():
        operator = find_operator(node.op)
        names = [name for name in _SIZES if name in operator.argument_table]
        if not (operator.resizes or "crop" in names):
            continue
        if any(name in node.connections for name in names):
            return None
        for name in names:
            value = node.arguments.get(name)
            found += value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    largest = max((int(value) for value in found if isinstance(value, (int, float)) and value > 1), default=0)
    return largest or None


def _with_small_pictures(plain: Cut, size: int) -> Cut:
    """The cut whose edges into decoders carry pictures that are decoded and made smaller."""
    computing, edges, pictures = plain.computing, list(plain.computing.outputs), list(plain.pictures)
    for place, edge in enumerate(plain.edges):
        decoders = [node for node in _decoders(plain.graph, plain.sources[0]) if bare(node.inputs[0]) == edge]
        if not decoders:
            continue
        shared = find_operator("decoders.image").argument_table
        arguments = {key: value for key, value in decoders[0].arguments.items() if key in shared}
        arguments = {key: value for key, value in arguments.items() if key not in ("output_type", "dtype", "name")}
        added = _smaller(f"{edge.node}_{edge.output}", edge, size, arguments)
        computing = computing.replaced(nodes={**computing.nodes, **{node.id: node for node in added}})
        edges[place], pictures[place] = Edge(added[-1].id), True
    if not any(pictures):
        raise GraphError(f"no pictures of '{plain.sources[0]}' are decoded, so none can be made smaller")
    computing = computing.replaced(outputs=tuple(edges))
    return Cut(plain.graph, plain.nodes, plain.sources, plain.edges, computing, tuple(pictures))


def _smaller(name: str, edge: Edge, size: int, arguments: dict[str, Any]) -> list[Node]:
    """Nodes that decode pictures and make them smaller, so that their shorter side has `size` pixels at most."""
    picture, shape, sides, shorter, least = (
        f"{name}_{word}" for word in ("picture", "shape", "sides", "side", "least")
    )
    return [
        Node(picture, "decoders.image", inputs=(edge,), arguments=arguments),
        Node(shape, "shapes", inputs=(Edge(picture),), arguments={"dtype": FLOAT}),
        Node(sides, "slice", inputs=(Edge(shape),), arguments={"start": (0,), "end": (2,), "axes": (0,)}),
        Node(shorter, "reductions.min", inputs=(Edge(sides),)),
        Node(least, "math.min", inputs=(Edge(shorter),), arguments={"b": float(size)}),
        Node(f"{name}_small", "resize", inputs=(Edge(picture),), connections={"resize_shorter": Edge(least)}),
    ]
