"""Answers the requests of the gallery's page: the methods ``gallery.*`` of ``extension/PROTOCOL.md``.

A thread of its own answers them in order, so that the wall does not wait for an editor's previews; measurements run on
another one, so that a control does not wait for them.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from dali_lab import gallery
from dali_lab.formats import dumps
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.gallery.entries import Entry, load_entry
from dali_lab.gallery.fragments import can_follow, follow
from dali_lab.gallery.making import subgraph_entry
from dali_lab.gallery.places import OWN_FOLDER, own_folders
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.verification import verify
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.connections import Request
from dali_lab.studio.document.graph_document import of_graph
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.gallery.cost import cost
from dali_lab.studio.gallery.describing import broken_line, entry_line, entry_page, families_of
from dali_lab.studio.gallery.drawing import Drawer, Drawn, Photographs, Subject, Variant, View
from dali_lab.studio.gallery.tiles import Tiles
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.preview.rendering import picture_ref
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol import gallery as protocol
from dali_lab.studio.protocol.connections import Empty
from dali_lab.studio.protocol.gallery import (
    ChosenPictures,
    Code,
    DrawAnswer,
    DrawRequest,
    EntryRequest,
    GalleryList,
    OverlayData,
    PicturesRequest,
    SaveEntryRequest,
    Surprise,
    SurpriseRequest,
    Tile,
    TileAnswer,
    TilesRequest,
    VariantAnswer,
    VariantRequest,
    ViewAnswer,
)
from dali_lab.studio.protocol.values import Wire, within

Answer = tuple[Wire, list[bytes]]
MOST_VARIANTS = 64
_STEPS = (2, 4)


class Gallery:
    """The gallery behind a session's pages.

    Parameters
    ----------
    root
        The folder whose ``gallery`` is shown beside the built-in one.
    permissions
        What graphs may use.
    tiles
        Keeps the wall's pictures.
    """

    def __init__(self, root: Path, permissions: Permissions, tiles: Tiles | None = None) -> None:
        self.root = root
        self.permissions = permissions
        self.tiles = tiles or Tiles()
        self.drawer = Drawer(roots=permissions.roots)
        self._found: gallery.Gallery | None = None
        self._photographs: dict[str, Photographs] = {}
        self._requests: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._tokens: set[Token] = set()
        self._lock = threading.Lock()
        self._measuring = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="dali-lab-gallery", daemon=True)
        self._thread.start()

    def load(self) -> None:
        """Read the entries ahead of the first request, on the gallery's own thread."""
        self._requests.put(self._gallery)

    def ask(self, request: Request, method: str, params: Wire) -> None:
        """Answer a request from another thread."""
        function, token = self._methods[method], Token()

        def work() -> None:
            request.answer_by(lambda: function(self, params, token))
            with self._lock:
                self._tokens.discard(token)

        with self._lock:
            if self._closed:
                return
            self._tokens.add(token)
        if method == "gallery.cost":
            limited = self.permissions.roots.limiting()(work)
            threading.Thread(target=limited, name="dali-lab-gallery-cost", daemon=True).start()
        else:
            self._requests.put(work)

    def close(self) -> None:
        """End the work at hand. Can be called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            tokens = list(self._tokens)
        for token in tokens:
            token.cancel()
        self._requests.put(None)
        self._thread.join(10)
        self.drawer.close()

    def entry(self, name: str) -> Entry:
        """The entry of this name.

        Raises
        ------
        DocumentError
            If there is none, or it is broken.
        """
        gallery = self._gallery()
        if name in gallery.entries:
            return gallery[name]
        broken = next((entry for entry in gallery.broken if entry.name == name), None)
        if broken is not None:
            raise DocumentError(f"The entry '{name}' is broken: {broken.problem}", "unreadable")
        raise DocumentError(f"There is no entry '{name}' in the gallery.", "not_found")

    def _work(self) -> None:
        while (work := self._requests.get()) is not None:
            with self.permissions.roots.limiting():
                work()
            del work  # with the request in it, while nothing else comes

    def _gallery(self, fresh: bool = False) -> gallery.Gallery:
        with self._lock:
            found = self._found
        if found is None or fresh:
            found = gallery.load_gallery(*own_folders(self.root), missing_ok=True)
            with self._lock:
                self._found = found
        return found

    def _pictures(self, folder: str | None) -> Photographs:
        folder = folder or ""
        found = self._photographs.get(folder)
        if found is None or folder:
            place = self.permissions.place(folder, self.root) if folder else None
            found = self._photographs[folder] = Photographs(place)
        return found

    # --- methods --------------------------------------------------------------------------------------------------

    def _list(self, request: Empty, token: Token) -> Answer:
        gallery = self._gallery(fresh=True)
        found = list(gallery)
        lines = [entry_line(entry) for entry in found]
        return GalleryList(families_of(found), lines, [broken_line(entry) for entry in gallery.broken]), []

    def _tiles(self, request: TilesRequest, token: Token) -> Answer:
        buffers: list[bytes] = []
        tiles: dict[str, Tile] = {}
        missing: list[str] = []
        for name in request.names:
            token.check()
            try:
                entry = self.entry(name)
                found = self.tiles.ready(entry)
                if found is None and entry.waiting is None:
                    if request.cached:
                        missing.append(name)
                        continue
                    self.permissions.require(entry.graph)
                    found = self.tiles.make(entry, self.drawer, self._pictures(None))
            except DaliLabError as error:
                tiles[name] = Tile(problem=sentence(str(error)))
                continue
            if found is not None:
                before, after = found
                tiles[name] = Tile(picture_ref(before, buffers), picture_ref(after, buffers))
        return TileAnswer(tiles, missing), buffers

    def _entry(self, request: EntryRequest, token: Token) -> Answer:
        return entry_page(self.entry(request.name), self._pictures(request.pictures)), []

    def _draw(self, request: DrawRequest, token: Token) -> Answer:
        subject, photographs = self._subject(request), self._pictures(request.pictures)
        buffers: list[bytes] = []
        results = []
        for index, variant in enumerate((request.variants or (protocol.Variant(),))[:MOST_VARIANTS]):
            drawn = self.drawer.draw(
                subject,
                Variant.asked(variant),
                photographs,
                first=max(0, request.first),
                samples=within(request.samples, 1, 16),
                size=within(request.size, 32, 1024),
                before=index == 0 and request.before,
                token=token,
            )
            results.append(_drawn(drawn, buffers))
        return DrawAnswer(results, photographs.count(subject.graph)), buffers

    def _cost(self, request: VariantRequest, token: Token) -> Answer:
        graph = self._graph(request)
        with self._measuring:
            token.check()
            return cost(graph, token), []

    def _code(self, request: VariantRequest, token: Token) -> Answer:
        """The graph and its code under the settings of the controls."""
        graph = self._graph(request)
        return Code(of_graph(with_groups(graph)), dumps(graph, "python").decode("utf-8")), []

    def _graph(self, request: VariantRequest) -> Graph:
        """A graph over real pictures, under the settings of its controls."""
        over = self._subject(request).graph_over(self._pictures(request.pictures))
        return Variant.asked(request).of(over)

    def _surprise(self, request: SurpriseRequest, token: Token) -> Answer:
        seed = random.SystemRandom().randrange(1 << 31) if request.seed is None else request.seed
        graph, steps = self.compose(seed, token)
        with_files = Subject(graph, None, graph.outputs).graph_over(self._pictures(request.pictures))
        surprise = Surprise(
            seed,
            " + ".join(entry.title for entry in steps),
            [entry.name for entry in steps],
            of_graph(graph),
            of_graph(with_files),
            dumps(with_files, "python").decode("utf-8"),
            json_file.edge_text(steps[0].before) if steps[0].before is not None else None,
        )
        return surprise, []

    def compose(self, seed: int, token: Token) -> tuple[Graph, list[Entry]]:
        """A random graph of two to four augmentations that runs, and the entries that they are from."""
        draw = random.Random(seed)
        allowed = self.permissions.allows
        candidates = [entry for entry in self._gallery() if can_follow(entry) and allowed(entry.graph)]
        draw.shuffle(candidates)
        count = draw.randint(*_STEPS)
        graph: Graph | None = None
        steps: list[Entry] = []
        for entry in candidates:
            if len(steps) == count:
                break
            if any(entry.family == other.family for other in steps[-1:]):
                continue
            try:
                longer = entry.graph if graph is None else follow(graph, entry)
                verify(longer)
            except DaliLabError:
                continue
            if self._gives_a_photograph(longer, token):
                graph = longer
                steps.append(entry)
        if graph is None:
            raise DocumentError("The gallery has nothing to compose from.", "not_found")
        return graph, steps

    def _gives_a_photograph(self, graph: Graph, token: Token) -> bool:
        """Whether the first output is an 8-bit colour picture that is not all of one colour."""
        over = self._pictures(None).over(graph)
        edge = over.outputs[0]
        evaluation = self.drawer.evaluator.evaluate(over, 42, samples=1, nodes=[edge.node], token=token)
        result = evaluation.results.get(edge.node)
        batch = result.outputs[edge.output] if result is not None and not result.failures else None
        if batch is None or batch.dtype.name != "UINT8" or batch.layout != "HWC" or int(batch.shapes[0][2]) != 3:
            return False
        return bool(batch.array(0).std() > 12)

    def _choose_pictures(self, request: PicturesRequest, token: Token) -> Answer:
        photographs = self._pictures(request.pictures)
        return ChosenPictures(str(photographs.folder), photographs.own, len(photographs.files)), []

    def _save(self, request: SaveEntryRequest, token: Token) -> Answer:
        folder = self.permissions.place(OWN_FOLDER, self.root, write=True)
        entry = load_entry(subgraph_entry(request.document, request.node, folder, request.title))
        self._gallery(fresh=True)
        return entry_line(entry), []

    def _subject(self, request: DrawRequest | VariantRequest) -> Subject:
        if request.graph is None:
            entry = self.entry(str(request.name))
            if entry.waiting is not None:
                raise DocumentError(f"'{entry.title}' cannot run yet: {entry.waiting}")
            self.permissions.require(entry.graph)
            return Subject.of(entry)
        graph = json_file.from_document(request.graph)
        verify(graph)
        self.permissions.require(graph)
        return Subject(graph, None if request.before_edge is None else Edge.parse(request.before_edge), graph.outputs)

    _methods: ClassVar[dict[str, Callable[[Gallery, Any, Token], Answer]]] = {
        "gallery.list": _list,
        "gallery.tiles": _tiles,
        "gallery.entry": _entry,
        "gallery.draw": _draw,
        "gallery.cost": _cost,
        "gallery.code": _code,
        "gallery.surprise": _surprise,
        "gallery.save": _save,
        "gallery.pictures": _choose_pictures,
    }


def _view(view: View, buffers: list[bytes]) -> ViewAnswer:
    images = [picture_ref(picture, buffers) for picture in view.pictures]
    overlays = [
        None if each is None else OverlayData(each.boxes, each.points, picture_ref(each.mask, buffers))
        for each in view.overlays
    ]
    return ViewAnswer(images, overlays, view.shapes)


def _drawn(drawn: Drawn, buffers: list[bytes]) -> VariantAnswer:
    if drawn.problem is not None:
        return VariantAnswer(problem=drawn.problem)
    before = None if drawn.before is None else _view(drawn.before, buffers)
    return VariantAnswer(before, [_view(view, buffers) for view in drawn.after])
