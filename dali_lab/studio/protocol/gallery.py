"""The gallery's page: its entries, their pictures under different settings, code and cost."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from dali_lab.studio.protocol.catalogue import Operator
from dali_lab.studio.protocol.documents import Document
from dali_lab.studio.protocol.values import PictureRef, SessionError, Value, Wire

Overrides: TypeAlias = Annotated[dict[str, dict[str, Any]], Meta(extra={"typescript": "Overrides"})]


class EntryLine(Wire):
    """An entry as the wall shows it.

    `pictures` says whether it reads photographs, so that others can take their place; `annotated` whether it reads
    boxes, points or masks with them. An entry that waits for something says for what. `terms` are other names that a
    search finds it by.
    """

    name: str
    title: str
    family: str
    helps: str
    hurts: str
    tags: list[str]
    operators: list[str]
    own: bool
    folder: str
    views: int
    pictures: bool
    annotated: bool
    waiting: str | None = None
    terms: list[str] = field(default_factory=list)


class BrokenLine(Wire):
    """An entry that cannot be read."""

    name: str
    folder: str
    problem: str


class GalleryFamily(Wire):
    """A family of entries."""

    name: str
    title: str


class GalleryList(Wire):
    """All entries, in the order in which they are shown."""

    families: list[GalleryFamily]
    entries: list[EntryLine]
    broken: list[BrokenLine]


class TilesRequest(Wire):
    """Pictures of the wall; with `cached` only existing ones."""

    names: tuple[str, ...] = ()
    cached: bool = False


class Tile(Wire):
    """The pictures of an entry, or why there are none."""

    before: PictureRef | None = None
    after: PictureRef | None = None
    problem: str | None = None


class TileAnswer(Wire):
    """Pictures by entry, and the entries whose pictures have to be made."""

    tiles: dict[str, Tile]
    missing: list[str]


class EntryRequest(Wire):
    """An entry's page; `pictures` is a folder in place of the sample photographs."""

    name: str
    pictures: str | None = None


class SaveEntryRequest(Wire):
    """A sub-graph of a document as an entry in the folder ``gallery`` of the session's own folder."""

    document: Document
    node: str
    title: str


class Control(Wire):
    """A control for an argument; `length` is that of a list whose parts are set together."""

    node: str
    name: str
    op: str
    label: str
    kind: Annotated[str, Meta(extra={"typescript": "'number' | 'range' | 'choice' | 'switch'"})]
    value: Value
    unit: str | None
    doc: str
    integer: bool
    length: int | None
    minimum: float | None = None
    maximum: float | None = None
    choices: list[str] | None = None


class EntryPage(EntryLine, kw_only=True):
    """An entry's page without its pictures; `fragment` names the nodes that make up the augmentation."""

    random: bool
    document: Document
    code: str
    before: str | None
    fragment: list[str]
    controls: list[Control]
    reference: list[Operator]


class Variant(Wire):
    """Settings under which a graph is drawn: arguments by node and name, and a seed."""

    overrides: Overrides | None = None
    seed: int = 42


class DrawRequest(Wire):
    """Pictures of an entry, or of a graph, under several settings.

    `first` is the photograph that comes first in the batch.
    """

    variants: tuple[Variant, ...] = ()
    name: str | None = None
    graph: Document | None = None
    before_edge: str | None = None
    first: int = 0
    samples: int = 1
    size: int = 256
    before: bool = True
    pictures: str | None = None


class OverlayData(Wire):
    """Boxes, points and masks over a picture, in shares of its size."""

    boxes: list[list[float]] | None = None
    points: list[list[float]] | None = None
    mask: PictureRef | None = None


class ViewAnswer(Wire):
    """One output: a picture for each sample."""

    images: list[PictureRef | None]
    overlays: list[OverlayData | None]
    shapes: list[str]


class VariantAnswer(Wire):
    """Pictures of a variant; only the first one has `before`."""

    before: ViewAnswer | None = None
    after: list[ViewAnswer] | None = None
    problem: SessionError | None = None


class DrawAnswer(Wire):
    """The variants in their order, and how many photographs there are."""

    variants: list[VariantAnswer]
    photographs: int


class VariantRequest(Wire):
    """An entry, or a graph, under the settings of its controls."""

    name: str | None = None
    graph: Document | None = None
    before_edge: str | None = None
    overrides: Overrides | None = None
    seed: int = 42
    pictures: str | None = None


class Cost(Wire):
    """Images a second on this machine, beside those of reading and decoding alone."""

    images_per_second: float
    decoding_images_per_second: float | None
    batch_size: int


class Code(Wire):
    """A graph, over real files, and its program."""

    document: Document
    code: str


class SurpriseRequest(Wire):
    """A random graph of a few entries; by default with a new seed."""

    seed: int | None = None
    pictures: str | None = None


class Surprise(Wire):
    """A random graph: `graph` to be drawn, `document` and `code` over real files."""

    seed: int
    title: str
    steps: list[str]
    graph: Document
    document: Document
    code: str
    before: str | None


class PicturesRequest(Wire):
    """Take the pictures of a folder; by default the sample photographs."""

    pictures: str | None = None


class ChosenPictures(Wire):
    """The folder of pictures, and how many there are."""

    folder: str
    own: bool
    count: int
