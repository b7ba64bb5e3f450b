"""Documents and their changes, and the requests that open, edit, save and export them.

A document keeps what an editor does not know, so its parts are open dictionaries; `document/graph_document.py` checks
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from msgspec import Meta, field

from dali_lab.studio.protocol.values import EdgeRef, Permission, ProgramPipeline, Value, Wire


class _GraphNode(TypedDict):
    op: str


class GraphNode(_GraphNode, total=False):
    """A node; inputs that are not connected are null. Connections stand in for the constants of the same name."""

    device: Literal["cpu", "gpu", "mixed"]
    inputs: list[EdgeRef | None]
    arguments: dict[str, Value]
    connections: dict[str, EdgeRef]


class NodeView(TypedDict, total=False):
    """Position of a node, and whether it is switched off; `disabled` counts more than `bypass`.

    `routes` has the points that links to its inputs (``in:0``) and arguments (``arg:angle``) pass through.
    """

    x: float
    y: float
    collapsed: bool
    bypass: bool
    disabled: bool
    title: str
    comment: str
    routes: dict[str, list[tuple[float, float]]]


class Note(TypedDict):
    """A text on the canvas."""

    id: str
    text: str
    x: float
    y: float
    w: float
    h: float


class OpenSubgraph(TypedDict):
    """The sub-graph that a group stands for while it is open.

    ``instance`` is the name of the node that was opened, and ``names`` has the names inside of the definition by the
    names that the nodes have here.
    """

    name: str
    instance: str
    names: dict[str, str]


class _Group(TypedDict):
    id: str
    title: str
    nodes: list[str]


class Group(_Group, total=False):
    """Nodes in a frame; a collapsed one is shown as a single node. A sub-graph stands open as a group."""

    collapsed: bool
    subgraph: OpenSubgraph


class View(TypedDict):
    """Layout and annotations; they do not affect results, except for the switches of nodes."""

    nodes: dict[str, NodeView]
    notes: list[Note]
    groups: list[Group]


class SubgraphArgument(TypedDict):
    """An argument of a node inside of a sub-graph."""

    node: str
    argument: str


class _Subgraph(TypedDict):
    inputs: list[str]
    nodes: dict[str, GraphNode]
    outputs: list[EdgeRef]


class Subgraph(_Subgraph, total=False):
    """A definition of a sub-graph. Its nodes refer to inputs by name, and its arguments set arguments of nodes inside.

    A node with the operator ``subgraph.NAME`` is an instance.
    """

    arguments: dict[str, list[SubgraphArgument]]
    view: View
    summary: str


class _GraphDocument(TypedDict):
    format: str
    version: int
    pipeline: dict[str, Value]
    nodes: dict[str, GraphNode]
    outputs: list[EdgeRef]
    view: View


class GraphDocument(_GraphDocument, total=False):
    """The content of a graph file."""

    subgraphs: dict[str, Subgraph]


if TYPE_CHECKING:
    Document: TypeAlias = GraphDocument
    NodeEntry: TypeAlias = GraphNode
    ViewEntry: TypeAlias = NodeView
    SubgraphEntry: TypeAlias = Subgraph
else:
    # msgspec would drop the keys that a TypedDict lacks, so documents are decoded as dictionaries, checked on receipt.
    Document = Annotated[dict[str, Any], Meta(extra={"typescript": "GraphDocument"})]
    NodeEntry = Annotated[dict[str, Any], Meta(extra={"typescript": "GraphNode"})]
    ViewEntry = Annotated[dict[str, Any], Meta(extra={"typescript": "NodeView"})]
    SubgraphEntry = Annotated[dict[str, Any], Meta(extra={"typescript": "Subgraph"})]


class Entries(Wire):
    """Entries of an object to set and unset; others stay.

    `order` lists all of them, where it is not "as before, new ones at the end".
    """

    set: dict[str, Any] | None = None
    unset: list[str] | None = None
    order: list[str] | None = None


class NodePatch(Entries):
    """Changes of an existing node, entry by entry: two editors may each change another argument."""

    arguments: Annotated[Entries, Meta(extra={"typescript": "Entries<Value>"})] | None = None
    connections: Annotated[Entries, Meta(extra={"typescript": "Entries<EdgeRef>"})] | None = None


class ViewChanges(Wire):
    """Views of nodes by name, null for removed ones; notes and groups as a whole."""

    nodes: dict[str, ViewEntry | None] | None = None
    notes: Annotated[list[Any], Meta(extra={"typescript": "Note[]"})] | None = None
    groups: Annotated[list[Any], Meta(extra={"typescript": "Group[]"})] | None = None


class Changes(Wire):
    """The unit of editing: new nodes (null for removed ones), patches of existing nodes, and other parts as a whole.

    The pipeline's settings change one by one. Sub-graphs are definitions by name, null for removed ones.
    """

    nodes: dict[str, NodeEntry | None] | None = None
    patches: dict[str, NodePatch] | None = None
    order: list[str] | None = None
    outputs: list[EdgeRef] | None = None
    pipeline: Annotated[Entries, Meta(extra={"typescript": "Entries<Value>"})] | None = None
    subgraphs: dict[str, SubgraphEntry | None] | None = None
    view: ViewChanges | None = None


class Fix(Wire):
    """Changes that mend a problem."""

    title: str
    changes: Changes


class Problem(Wire):
    """A problem of the document, in one sentence, with a code for programs."""

    severity: Annotated[str, Meta(extra={"typescript": "'error' | 'warning' | 'info'"})]
    message: str
    code: str | None = None
    node: str | None = None
    argument: str | None = None
    input: int | None = None
    fix: Fix | None = None
    permission: Permission | None = None


class AllowRequest(Wire):
    """Ask for a permission, or with the number that the refusal of a former request had, agree to it."""

    permission: Permission
    consent: Annotated[object, Meta(extra={"typescript": "string"})] = None


class Problems(Wire):
    """All problems; pushed after each edit that changes meaning.

    `unchanging` are the nodes, from readers on, whose results are the same in every epoch.
    """

    revision: int
    problems: list[Problem]
    unchanging: list[str] = field(default_factory=list)


class FileInfo(Wire):
    """The file that a document came from."""

    path: str
    name: str


class Opened(Wire):
    """A document with its file, seed and revision; `seed` is the one in use."""

    document: Document
    revision: int
    title: str
    file: FileInfo | None
    dirty: bool
    seed: int
    warnings: list[str] | None = None


class EditRequest(Wire):
    """Change the document; it never fails because the graph is unfinished.

    With `placed`, the changes only give nodes the places at which they are drawn: a saved document stays saved.
    """

    changes: Changes
    base: int = 0
    placed: bool = False


class Edited(Wire):
    """The revision after an edit."""

    revision: int


class Changed(Wire):
    """An editor changed the document; `client` is the one that did."""

    revision: int
    changes: Changes
    client: str


class OpenRequest(Wire):
    """Open one of: a file, a text (a graph file's or a program), a sample, an entry of the gallery.

    `pipeline` says which one of a program with several. `run` is a number by which it can be cancelled as long as the
    document before is there.
    """

    run: int | None = None
    path: str | None = None
    text: str | None = None
    name: str | None = None
    sample: str | None = None
    gallery: str | None = None
    pipeline: str | None = None


class SaveRequest(Wire):
    """Write the document to a file, by default to the one that it came from."""

    path: str | None = None
    overwrite: bool = False


class Saved(Wire):
    """The file that was written."""

    file: FileInfo | None
    title: str
    dirty: bool


class ExportRequest(Wire):
    """The document in one of the forms of the capabilities."""

    to: str


class Exported(Wire):
    """An exported text, and the parts that had to be left out."""

    text: str
    filename: str
    mime: str
    language: str
    warnings: list[str] | None = None


class ExportedFile(Wire):
    """A file to be downloaded, in a buffer."""

    buffer: int
    size: int
    filename: str
    mime: str
    warnings: list[str] | None = None


class ListFilesRequest(Wire):
    """The entries of a folder, by default of the session's."""

    path: str | None = None
    kinds: tuple[str, ...] = ("any",)


class ListingEntry(Wire):
    """A folder, with the pictures in it, or a file, with its bytes."""

    name: str
    path: str
    kind: Annotated[str, Meta(extra={"typescript": "'folder' | 'graph' | 'image' | 'file'"})]
    size: int | None = None
    images: int | None = None


class Listing(Wire):
    """A folder's content, folders first."""

    path: str
    parent: str | None
    entries: list[ListingEntry]
    truncated: bool = False


class ListPipelinesRequest(Wire):
    """The pipelines of a program, which is not run."""

    path: str | None = None
    text: str | None = None
    name: str | None = None


class ProgramListing(Wire):
    """The pipelines of a program."""

    name: str
    path: str | None
    pipelines: list[ProgramPipeline]


class TraceRequest(Wire):
    """Run a program for the graph of one of its pipelines.

    `consent` is the number that the refusal of a former request had; sent back once the person agreed to that text.
    """

    run: int
    path: str | None = None
    text: str | None = None
    name: str | None = None
    pipeline: str | None = None
    # Any other type than a text is refused and logged as a made-up number, not answered as an invalid request.
    consent: Annotated[object, Meta(extra={"typescript": "string"})] = None
    arguments: dict[str, Any] | None = None
    timeout: float | None = None
