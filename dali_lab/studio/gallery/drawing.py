"""Pictures of an entry: before and after, under several settings of its arguments and several seeds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.formats import subgraphs, values
from dali_lab.gallery import samples
from dali_lab.gallery.entries import Entry, Overlay
from dali_lab.gallery.places import ANNOTATED, PHOTOGRAPHS, places_in, with_annotated, with_pictures, with_places
from dali_lab.gallery.samples.own import MOST_PICTURES, pictures_in
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.seeds import graph_seeds
from dali_lab.io.roots import Roots
from dali_lab.model.batch import Batch
from dali_lab.model.errors import ArgumentError, DaliLabError
from dali_lab.schema.registry import find_operator, has_operator, known_operator
from dali_lab.studio.errors import sentence
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.pictures import Picture, coloured_labels, encode, fitted
from dali_lab.studio.preview.rendering import Renderer, label_roots, output_kinds
from dali_lab.studio.preview.results import Evaluation, Token
from dali_lab.studio.protocol import gallery as protocol
from dali_lab.studio.protocol.values import SessionError

FIRST = ("chelsea.jpg", "coffee.jpg", "motorcycle.jpg", "astronaut.jpg", "rocket.jpg", "ihc.jpg", "retina.jpg")
"""The sample photographs that show most, first."""

READER_SEED = 7
"""Readers keep their order while everything else is drawn anew."""

_MASK_OPACITY = 120
_LONG = 1000
_SPECTRUM = "ft"


class Photographs:
    """A folder of pictures, those that show most first.

    Parameters
    ----------
    folder
        By default the sample photographs.

    Raises
    ------
    DaliLabError
        If there is no such folder, or no picture in it or its sub-folders.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.own = folder is not None
        self.folder = samples.photographs() if folder is None else Path(folder).expanduser().absolute()
        if not self.folder.is_dir():
            raise DaliLabError(f"there is no folder of pictures at {self.folder}")
        found = pictures_in(self.folder)
        rank = {name: place for place, name in enumerate(FIRST)}
        ordered = sorted(found, key=lambda path: (rank.get(path.rpartition("/")[2], len(rank)), path))
        self.files = ordered[:MOST_PICTURES]

    def count(self, graph: Graph) -> int:
        """The number of photographs that `graph` reads."""
        if self.own or ANNOTATED not in places_in(graph):
            return len(self.files)
        return max(len(node.arguments.get("files") or ()) for node in graph.nodes.values())

    def over(self, graph: Graph, first: int = 0) -> Graph:
        """`graph` with its readers of photographs reading these, in this order, beginning with number `first`."""
        batch = int(graph.pipeline.get("batch_size") or 8)
        count = len(self.files)
        chosen = [self.files[(first + index) % count] for index in range(max(batch, min(count, batch * 4)))]
        for node in graph.nodes.values():
            root = node.arguments.get("file_root")
            operator = known_operator(node.op)
            lists_files = operator is not None and {"file_root", "files"} <= operator.argument_table.keys()
            if lists_files and isinstance(root, str) and root.startswith(PHOTOGRAPHS):
                arguments = {"file_root": os.fspath(self.folder), "files": chosen, "seed": READER_SEED}
                graph = graph.with_node(node.replaced(arguments=arguments))
        if ANNOTATED in places_in(graph):
            graph = with_annotated(graph, self.folder, chosen) if self.own else _beginning_with(graph, first)
        return with_pictures(with_places(graph, {PHOTOGRAPHS: os.fspath(self.folder)}))


def _beginning_with(graph: Graph, first: int) -> Graph:
    """The graph with the samples that have annotations in another order."""
    for node in graph.nodes.values():
        files = node.arguments.get("files")
        if node.arguments.get("file_root") == ANNOTATED and files:
            turned = tuple(files[(first + index) % len(files)] for index in range(len(files)))
            graph = graph.with_node(node.replaced(arguments={**node.arguments, "files": turned}))
    return graph


@dataclass(frozen=True)
class Subject:
    """A graph whose pictures are drawn: before and after.

    Attributes
    ----------
    before
        The picture as it was; the reader's, decoded for display, where an entry names none.
    after
        The pictures that it gives: one, or several views.
    """

    graph: Graph
    before: Edge | None
    after: tuple[Edge, ...]
    overlays: tuple[Overlay, ...] = ()

    @classmethod
    def of(cls, entry: Entry) -> Subject:
        """An entry with its outputs that are pictures."""
        drawn_over = {overlay.source for overlay in entry.overlays}
        after = tuple(edge for edge in entry.graph.outputs if edge not in drawn_over)
        return cls(entry.graph, entry.before, after or entry.graph.outputs[:1], entry.overlays)

    def graph_over(self, photographs: Photographs) -> Graph:
        """The graph for export, over a folder of pictures."""
        return with_pictures(self.graph, photographs.folder if photographs.own else None)

    @property
    def random(self) -> bool:
        """Whether another seed gives another picture."""
        names = self.graph.ancestors(edge.node for edge in self.after)
        drawn = graph_seeds(self.graph, 1)
        return any(name in drawn and not find_operator(self.graph.nodes[name].op).source for name in names)


@dataclass(frozen=True)
class Variant:
    """Settings under which a subject is drawn: arguments by node and name, and a seed."""

    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 42

    @classmethod
    def asked(cls, given: protocol.Variant | protocol.VariantRequest) -> Variant:
        """The settings that a page asks for."""
        return cls(given.overrides or {}, given.seed)

    def of(self, graph: Graph) -> Graph:
        """`graph` with these arguments.

        Raises
        ------
        ArgumentError
            If there is no such node, or a value is not what its argument takes.
        """
        for name, arguments in self.overrides.items():
            if name not in graph.nodes:
                raise ArgumentError(f"there is no node '{name}'")
            node = graph.nodes[name]
            table = find_operator(node.op).argument_table if has_operator(node.op) else {}
            arguments = {key: values.decode(value, table.get(key)) for key, value in arguments.items()}
            arguments = {
                key: table[key].canonical(value) if key in table else value for key, value in arguments.items()
            }
            kept = {key: edge for key, edge in node.connections.items() if key not in arguments}
            graph = graph.with_node(node.replaced(arguments={**node.arguments, **arguments}, connections=kept))
            if (folded := graph.view.get(subgraphs.FOLDED)) is not None:
                written = {key: values.encode(value, table.get(key)) for key, value in arguments.items()}
                view = {**graph.view, subgraphs.FOLDED: subgraphs.with_values(folded, name, written)}
                graph = graph.replaced(view=view)
        return graph


@dataclass
class Overlays:
    """Annotations of one picture: boxes and points in shares of its size, and class numbers in colours."""

    boxes: list[list[float]] | None = None
    points: list[list[float]] | None = None
    mask: Picture | None = None


@dataclass
class View:
    """One output: a picture for each sample, with what is drawn over it."""

    pictures: list[Picture | None] = field(default_factory=list)
    overlays: list[Overlays | None] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)


@dataclass
class Drawn:
    """The pictures of a variant; `problem` says why there are none."""

    before: View | None = None
    after: list[View] = field(default_factory=list)
    problem: SessionError | None = None


class Drawer:
    """Draws subjects with an evaluator of its own.

    Parameters
    ----------
    threads
        For the evaluation; by default one for each core.
    roots
        What graphs may read; `None` for everything.
    """

    def __init__(self, threads: int | None = None, roots: Roots | None = None) -> None:
        self.evaluator = Evaluator(memory=256 << 20, threads=threads, roots=roots)
        self.renderer = Renderer(1, memory=64 << 20)

    def close(self) -> None:
        """End the threads and forget everything."""
        self.evaluator.close()
        self.renderer.close()

    def draw(
        self,
        subject: Subject,
        variant: Variant,
        photographs: Photographs,
        *,
        first: int = 0,
        samples: int = 1,
        size: int = 256,
        before: bool = True,
        token: Token | None = None,
    ) -> Drawn:
        """Draw the first samples of a batch.

        Parameters
        ----------
        first
            The photograph that comes first in the batch.
        samples
            How many samples of the batch.
        size
            Longer side of a picture in pixels.
        before
            Whether the picture as it was is wanted, too.

        Raises
        ------
        Cancelled
            If the token was used.
        """
        try:
            graph = variant.of(photographs.over(subject.graph, first))
            edges = [*subject.after, *([subject.before] if subject.before is not None and before else [])]
            nodes = {edge.node for edge in edges}
            nodes |= {overlay.source.node for overlay in subject.overlays if overlay.on in edges}
            evaluation = self.evaluator.evaluate(graph, variant.seed, samples=samples, nodes=nodes, token=token)
            failed = next((one for result in evaluation.results.values() for one in result.failures), None)
            if failed is not None:
                return Drawn(problem=SessionError.of(failed.error))
            views = [self._view(subject, graph, evaluation, edge, size) for edge in edges]
        except DaliLabError as error:
            return Drawn(problem=SessionError.of(error))
        except (TypeError, ValueError, OverflowError) as error:
            return Drawn(problem=SessionError(sentence(str(error))))
        count = len(subject.after)
        before_view = views[count] if len(views) > count else None
        # Labels and numbers among the outputs are no views.
        seen = [view for view in views[:count] if any(view.pictures)]
        return Drawn(before_view, seen) if seen else Drawn(problem=SessionError("This graph gives no picture."))

    def _view(self, subject: Subject, graph: Graph, evaluation: Evaluation, edge: Edge, size: int) -> View:
        result = evaluation.results[edge.node]
        kind = output_kinds(graph)[edge.node][edge.output]
        batch = result.outputs[edge.output]
        if batch is None:
            return View()
        if batch.ndim == 1 and batch.dtype.name.startswith("FLOAT") and batch.sizes.min() >= _LONG:
            kind = "audio"
        rendered = self.renderer.rendered(result, edge.output, evaluation, kind, size, label_roots(graph))
        if rendered is None:
            return View()
        count = len(rendered.pictures)
        view = View(list(rendered.pictures), [None] * count, [])
        if batch.layout == _SPECTRUM:
            view.pictures = [None if one is None else _upright(one, size) for one in view.pictures]
        view.shapes = ["×".join(map(str, batch.shapes[index].tolist())) for index in range(count)]
        for overlay in subject.overlays:
            if overlay.on == edge:
                _lay_over(view, overlay, evaluation, batch, size)
        return view


def _lay_over(view: View, overlay: Overlay, evaluation: Evaluation, pictures: Batch, size: int) -> None:
    batch = evaluation.results[overlay.source.node].outputs[overlay.source.output]
    if batch is None:
        return
    for index in range(min(len(batch), len(view.overlays))):
        values = batch.array(index)
        drawn = view.overlays[index] = view.overlays[index] or Overlays()
        if overlay.kind == "mask":
            drawn.mask = mask_picture(values, size)
        else:
            width = 4 if overlay.kind == "boxes" else 2
            rows = np.asarray(values, np.float64).reshape(-1, width)
            if not overlay.relative:
                rows = rows / np.tile(_extent(pictures, index), width // 2)
            shapes = np.round(rows, 5).tolist()
            drawn.boxes, drawn.points = (shapes, drawn.points) if width == 4 else (drawn.boxes, shapes)


def _extent(batch: Batch, index: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Width and height of a picture."""
    shape, layout = batch.shapes[index].tolist(), batch.layout or "HWC"
    return np.array([shape[layout.index("W")], shape[layout.index("H")]], np.float64)


def _upright(spectrum: Picture, size: int) -> Picture:
    """A spectrogram the usual way up: low tones below, twice as wide as high."""
    import cv2

    stretched = cv2.resize(decoded(spectrum), (size, size // 2), interpolation=cv2.INTER_NEAREST)
    return encode(stretched[::-1], exact=True)


def decoded(picture: Picture) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """An encoded picture as ``[height, width, 3]`` RGB."""
    import cv2

    found: Any = cv2.imdecode(np.frombuffer(picture.data, np.uint8), cv2.IMREAD_COLOR)
    return np.ascontiguousarray(found[..., ::-1])


def mask_picture(labels: npt.ArrayLike, size: int) -> Picture:
    """Class numbers as a picture to lay over another one: half-transparent colours, nothing where the class is 0."""
    flat = np.asarray(labels)
    flat = flat[..., 0] if flat.ndim == 3 else flat
    seen = np.where(flat > 0, _MASK_OPACITY, 0).astype(np.uint8)
    return encode(fitted(np.dstack([coloured_labels(flat), seen]), size, exact=True), exact=True)
