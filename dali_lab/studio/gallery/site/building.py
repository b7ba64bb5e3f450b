"""Writes the site: draws every picture that its pages show, and the pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from dali_lab.formats import dumps
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.drawing import svg
from dali_lab.gallery.entries import BrokenEntry, Entry, Gallery
from dali_lab.gallery.places import with_places
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.catalogue import operator_entry
from dali_lab.studio.gallery.cost import cost
from dali_lab.studio.gallery.describing import controls_of
from dali_lab.studio.gallery.drawing import Drawer, Photographs, Subject, Variant, View
from dali_lab.studio.gallery.site import pages
from dali_lab.studio.gallery.site.pages import EntryPage, Range
from dali_lab.studio.gallery.tiles import draw_tile, flat_picture, photograph_number
from dali_lab.studio.preview.pictures import Picture
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.gallery import Control, Cost

HERE = Path(__file__).parent
DRAWS = 8
STEPS = 7
_SIZE = 320
_SMALL = 160
_SAMPLES = 4
_PLACES = {
    "$photographs": "path/to/photographs", "$annotated": "path/to/annotated", "$volumes": "path/to/volumes",
    "$sounds": "path/to/sounds", "$videos": "path/to/videos",
}  # fmt: skip


def build_site(
    gallery: Gallery,
    folder: Path,
    *,
    tell: Callable[[str], None] | None = None,
    measure: bool = False,
) -> list[BrokenEntry]:
    """Write the site into a folder.

    Parameters
    ----------
    gallery
        What to show.
    folder
        Where to; made if it is not there. Files of an older site in it are replaced.
    tell
        Called with the name of each entry before it is drawn.
    measure
        Whether each page says what its entry costs on this machine.

    Returns
    -------
    list
        Entries that cannot be drawn, beside those that are broken; the site says what is wrong with them.

    Raises
    ------
    DaliLabError
        If `folder` is a file, or holds something else than such a site.
    """
    _prepare(folder)
    photographs = Photographs()
    drawer = Drawer()
    shown: list[EntryPage] = []
    broken = list(gallery.broken)
    try:
        for entry in gallery:
            if tell is not None:
                tell(entry.name)
            try:
                page = _Drawing(entry, folder, drawer, photographs, measure).page()
            except DaliLabError as error:
                broken.append(BrokenEntry(entry.name, entry.folder, str(error)))
                continue
            shown.append(page)
    finally:
        drawer.close()
    operators = sorted({op for page in shown for op in page.operators})
    for index, page in enumerate(shown):
        neighbours = (shown[index - 1] if index else None, shown[index + 1] if index + 1 < len(shown) else None)
        _write(folder / "entries" / f"{page.entry.name}.html", pages.entry_page(page, neighbours))
    for op in operators:
        users = [page for page in shown if op in page.operators]
        _write(folder / "operators" / f"{op}.html", pages.operator_page(operator_entry(find_operator(op)), users))
    _write(folder / "index.html", pages.index_page(shown, broken))
    for name in ("style.css", "site.js"):
        shutil.copyfile(HERE / name, folder / name)
    return broken[len(gallery.broken) :]


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise DaliLabError(f"{folder} is a file; give a folder")
    ours = ("index.html", "style.css", "site.js", "entries", "operators", "pictures", "graphs")
    if folder.is_dir():
        others = [path.name for path in folder.iterdir() if path.name not in ours]
        if others and not (folder / "site.js").is_file():
            raise DaliLabError(f"{folder} holds other things, such as '{others[0]}'; give a folder of its own")
        for name in ("entries", "operators", "pictures", "graphs"):
            shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("entries", "operators", "pictures", "graphs"):
        (folder / name).mkdir(parents=True, exist_ok=True)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


class _Drawing:
    """One entry's pictures, graph and code."""

    def __init__(self, entry: Entry, folder: Path, drawer: Drawer, photographs: Photographs, measure: bool) -> None:
        self.entry = entry
        self.folder = folder
        self.drawer = drawer
        self.photographs = photographs
        self.measure = measure
        self.pictures = folder / "pictures" / entry.name

    def page(self) -> EntryPage:
        """Draw and write the entry's files, and describe them.

        Raises
        ------
        DaliLabError
            If the entry cannot run.
        """
        entry = self.entry
        graph = with_places(entry.graph, _PLACES)
        page = EntryPage(entry, graph_file=f"graphs/{entry.name}.dali.json", operators=_operators(entry.graph))
        if entry.waiting is None:
            page.code = dumps(graph, "python").decode("utf-8")
            self._draw(page, Subject.of(entry))
            if self.measure:
                page.cost = self._cost()
        page.drawing = _inline(svg(graph))
        _write(self.folder / page.graph_file, json_file.dumps(graph))
        return page

    def _draw(self, page: EntryPage, subject: Any) -> None:
        self.pictures.mkdir(parents=True, exist_ok=True)
        seed = int(self.entry.graph.pipeline.get("seed") or 42)
        before, after = draw_tile(self.entry, self.drawer, self.photographs)
        page.before = None if before is None else self._save("before", before)
        page.after = self._save("after", after)
        first = photograph_number(self.entry)
        page.samples = self._pairs(subject, Variant(seed=seed), first)
        page.random = bool(subject.random)
        if page.random:
            variants = [Variant(seed=seed + number) for number in range(DRAWS)]
            page.draws = self._strip("draw", subject, variants, first)
        for number, control in enumerate(controls_of(self.entry)):
            if control.kind != "number":
                continue
            values = _spread(control)
            variants = [Variant({control.node: {control.name: value}}, seed) for value in values]
            pictures = self._strip(f"range-{number}", subject, variants, first)
            shown = [value[0] if isinstance(value, list) else value for value in values]
            page.ranges.append(Range(control.label, control.unit or "", shown, pictures))

    def _pairs(self, subject: Subject, variant: Variant, first: int) -> list[tuple[str | None, str | None]]:
        drawn = self.drawer.draw(subject, variant, self.photographs, first=first, samples=_SAMPLES, size=_SIZE)
        if drawn.problem is not None:
            raise DaliLabError(drawn.problem.message)
        pairs = []
        for index in range(len(drawn.after[0].pictures)):
            before = None if drawn.before is None else self._frame(f"sample-{index}-before", [drawn.before], index)
            pairs.append((before, self._frame(f"sample-{index}-after", drawn.after, index)))
        return pairs

    def _strip(self, name: str, subject: Subject, variants: Sequence[Variant], first: int) -> list[str | None]:
        files: list[str | None] = []
        for number, variant in enumerate(variants):
            drawn = self.drawer.draw(subject, variant, self.photographs, first=first, size=_SMALL, before=False)
            files.append(None if drawn.problem else self._frame(f"{name}-{number}", drawn.after, 0))
        return files

    def _frame(self, name: str, views: Iterable[View], index: int) -> str | None:
        picture = flat_picture(list(views), index)
        return None if picture is None else self._save(name, picture)

    def _save(self, name: str, picture: Picture) -> str:
        path = self.pictures / f"{name}.jpg"
        path.write_bytes(picture.data)
        return f"pictures/{self.entry.name}/{path.name}"

    def _cost(self) -> Cost:
        return cost(self.entry.over(), Token())


def _spread(control: Control) -> list[Any]:
    low, high = control.minimum or 0.0, control.maximum or 0.0
    values: list[Any] = []
    for step in range(STEPS):
        value: Any = float(f"{low + (high - low) * step / (STEPS - 1):.4g}")
        if control.integer:
            value = round(value)
        values.append(value if control.length is None else [value] * control.length)
    return values


def _operators(graph: Graph) -> list[str]:
    return list(dict.fromkeys(node.op for node in graph.nodes.values() if has_operator(node.op)))


def _inline(drawing: str) -> str:
    """A drawing as it may stand inside a page."""
    return drawing[drawing.index("<svg") :]
