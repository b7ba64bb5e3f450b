"""Answers what the gallery's page asks of a session: the methods ``gallery.*`` of ``extension/PROTOCOL.md``.

One thread of its own takes them in their order, so that the wall does not wait for an editor's previews; what is
measured runs on another one, so that a control does not wait for a measurement.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from dali_lab import gallery
from dali_lab.executor.failures import Cancelled
from dali_lab.formats import dumps
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.gallery.entries import Entry
from dali_lab.gallery.fragments import can_follow, follow
from dali_lab.gallery.places import own_folders
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.verification import verify
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.document.graph_document import DocumentError, sentence
from dali_lab.studio.gallery.cost import cost
from dali_lab.studio.gallery.describing import broken_line, entry_line, entry_page, families_of
from dali_lab.studio.gallery.drawing import Drawer, Drawn, Photographs, Subject, View, parse_variants
from dali_lab.studio.gallery.tiles import Tiles
from dali_lab.studio.preview.evaluation import Token
from dali_lab.studio.preview.pictures import Picture

Json = dict[str, Any]
Answer = tuple[Json, list[bytes]]
Respond = Callable[[Json, list[bytes]], None]
MOST_VARIANTS = 64
_STEPS = (2, 4)


class Gallery:
    """The gallery behind a session's pages.

    Parameters
    ----------
    root
        The folder whose ``gallery`` is shown beside the built-in one.
    tiles
        Keeps the wall's pictures.
    """

    def __init__(self, root: Path, tiles: Tiles | None = None) -> None:
        self.root = root
        self.tiles = tiles or Tiles()
        self.drawer = Drawer()
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
        """Read the entries before they are asked for, in the gallery's own thread."""
        self._requests.put(self._gallery)

    def ask(self, method: str, params: Json, respond: Respond, fail: Callable[[BaseException], None]) -> None:
        """Answer a request by one of the two functions, from another thread.

        Raises
        ------
        DocumentError
            If there is no such method.
        """
        function = self._methods.get(method)
        if function is None:
            raise DocumentError(f"This session does not know '{method}'.", "unknown_method")
        token = Token()

        def work() -> None:
            try:
                answer = function(self, params, token)
            except Cancelled:
                fail(DocumentError("Stopped."))
            except Exception as error:  # a request must always be answered
                fail(error)
            else:
                respond(*answer)
            finally:
                with self._lock:
                    self._tokens.discard(token)

        with self._lock:
            if self._closed:
                return
            self._tokens.add(token)
        if method == "gallery.cost":
            threading.Thread(target=work, name="dali-lab-gallery-cost", daemon=True).start()
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
            work()

    def _gallery(self, fresh: bool = False) -> gallery.Gallery:
        with self._lock:
            found = self._found
        if found is None or fresh:
            found = gallery.load_gallery(*own_folders(self.root), missing_ok=True)
            with self._lock:
                self._found = found
        return found

    def _pictures(self, params: Json) -> Photographs:
        folder = str(params.get("pictures") or "")
        found = self._photographs.get(folder)
        if found is None or folder:
            found = self._photographs[folder] = Photographs(self.root / Path(folder).expanduser() if folder else None)
        return found

    # --- methods --------------------------------------------------------------------------------------------------

    def _list(self, params: Json, token: Token) -> Answer:
        gallery = self._gallery(fresh=True)
        found = list(gallery)
        return {
            "families": families_of(found),
            "entries": [entry_line(entry) for entry in found],
            "broken": [broken_line(entry) for entry in gallery.broken],
        }, []

    def _tiles(self, params: Json, token: Token) -> Answer:
        buffers: list[bytes] = []
        tiles: Json = {}
        missing: list[str] = []
        for name in [str(name) for name in params.get("names") or ()]:
            token.check()
            try:
                entry = self.entry(name)
                found = self.tiles.ready(entry)
                if found is None and entry.waiting is None:
                    if params.get("cached"):
                        missing.append(name)
                        continue
                    found = self.tiles.make(entry, self.drawer, self._pictures({}))
            except DaliLabError as error:
                tiles[name] = {"problem": sentence(str(error))}
                continue
            if found is not None:
                before, after = found
                tiles[name] = {"before": _picture(before, buffers), "after": _picture(after, buffers)}
        return {"tiles": tiles, "missing": missing}, buffers

    def _entry(self, params: Json, token: Token) -> Answer:
        entry = self.entry(str(params["name"]))
        return entry_page(entry, self._pictures(params)), []

    def _draw(self, params: Json, token: Token) -> Answer:
        subject = self._subject(params)
        photographs = self._pictures(params)
        variants = parse_variants(list(params.get("variants") or [{}])[:MOST_VARIANTS])
        size = max(32, min(1024, int(params.get("size", 256))))
        samples = max(1, min(16, int(params.get("samples", 1))))
        first = max(0, int(params.get("first", 0)))
        buffers: list[bytes] = []
        results = []
        for index, variant in enumerate(variants):
            drawn = self.drawer.draw(
                subject,
                variant,
                photographs,
                first=first,
                samples=samples,
                size=size,
                before=index == 0 and params.get("before") is not False,
                token=token,
            )
            results.append(_drawn(drawn, buffers))
        return {"variants": results, "photographs": photographs.count(subject.graph)}, buffers

    def _cost(self, params: Json, token: Token) -> Answer:
        subject = self._subject(params)
        (variant,) = parse_variants([params])
        photographs = self._pictures(params)
        with self._measuring:
            token.check()
            return cost(variant.of(subject.graph_over(photographs)), token), []

    def _code(self, params: Json, token: Token) -> Answer:
        """The graph and its code under the settings of the controls."""
        (variant,) = parse_variants([params])
        graph = variant.of(self._subject(params).graph_over(self._pictures(params)))
        return {
            "document": json_file.to_document(with_groups(graph)),
            "code": dumps(graph, "python").decode("utf-8"),
        }, []

    def _surprise(self, params: Json, token: Token) -> Answer:
        seed = int(params["seed"]) if params.get("seed") is not None else random.SystemRandom().randrange(1 << 31)
        graph, steps = self.compose(seed, token)
        with_files = Subject(graph, None, graph.outputs).graph_over(self._pictures(params))
        return {
            "seed": seed,
            "title": " + ".join(entry.title for entry in steps),
            "steps": [entry.name for entry in steps],
            "graph": json_file.to_document(graph),
            "document": json_file.to_document(with_files),
            "code": dumps(with_files, "python").decode("utf-8"),
            "before": json_file.edge_text(steps[0].before) if steps[0].before is not None else None,
        }, []

    def compose(self, seed: int, token: Token) -> tuple[Graph, list[Entry]]:
        """A random graph of two to four augmentations that runs, and the entries that they are from."""
        draw = random.Random(seed)
        candidates = [entry for entry in self._gallery() if can_follow(entry)]
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
        over = self._pictures({}).over(graph)
        edge = over.outputs[0]
        evaluation = self.drawer.evaluator.evaluate(over, 42, samples=1, nodes=[edge.node], token=token)
        result = evaluation.results.get(edge.node)
        batch = result.outputs[edge.output] if result is not None and not result.failures else None
        if batch is None or batch.dtype.name != "UINT8" or batch.layout != "HWC" or int(batch.shapes[0][2]) != 3:
            return False
        return bool(batch.array(0).std() > 12)

    def _choose_pictures(self, params: Json, token: Token) -> Answer:
        photographs = self._pictures(params)
        return {"folder": str(photographs.folder), "own": photographs.own, "count": len(photographs.files)}, []

    def _subject(self, params: Json) -> Subject:
        if params.get("graph") is None:
            entry = self.entry(str(params.get("name")))
            if entry.waiting is not None:
                raise DocumentError(f"'{entry.title}' cannot run yet: {entry.waiting}")
            return Subject.of(entry)
        graph = json_file.from_document(params["graph"])
        verify(graph)
        before = params.get("before_edge")
        return Subject(graph, None if before is None else Edge.parse(str(before)), graph.outputs)

    _methods: ClassVar[dict[str, Callable[[Gallery, Json, Token], Answer]]] = {
        "gallery.list": _list,
        "gallery.tiles": _tiles,
        "gallery.entry": _entry,
        "gallery.draw": _draw,
        "gallery.cost": _cost,
        "gallery.code": _code,
        "gallery.surprise": _surprise,
        "gallery.pictures": _choose_pictures,
    }


def _picture(picture: Picture | None, buffers: list[bytes]) -> Json | None:
    if picture is None:
        return None
    buffers.append(picture.data)
    return {"buffer": len(buffers) - 1, "mime": picture.mime, "width": picture.width, "height": picture.height}


def _view(view: View, buffers: list[bytes]) -> Json:
    overlays = []
    for overlay in view.overlays:
        if overlay is not None and "mask" in overlay:
            overlay = {**overlay, "mask": _picture(overlay["mask"], buffers)}
        overlays.append(overlay)
    images = [_picture(picture, buffers) for picture in view.pictures]
    return {"images": images, "overlays": overlays, "shapes": view.shapes}


def _drawn(drawn: Drawn, buffers: list[bytes]) -> Json:
    if drawn.problem is not None:
        return {"problem": drawn.problem}
    before = None if drawn.before is None else _view(drawn.before, buffers)
    return {"before": before, "after": [_view(view, buffers) for view in drawn.after]}
