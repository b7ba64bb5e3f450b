"""An entry as its page shows it: text, controls, graph, code, and the operators in it."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from dali_lab.formats import dumps, subgraphs
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.gallery.entries import Argument, BrokenEntry, Entry
from dali_lab.gallery.fragments import fragment
from dali_lab.gallery.places import ANNOTATED, PHOTOGRAPHS, built_in_folder, places_in
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.everyday import other_names
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.catalogue import argument_entry, operator_entry, plain
from dali_lab.studio.document.graph_document import of_graph
from dali_lab.studio.document.instances import Instances
from dali_lab.studio.errors import sentence
from dali_lab.studio.gallery.drawing import Photographs, Subject
from dali_lab.studio.protocol.gallery import BrokenLine, Control, EntryLine, EntryPage, GalleryFamily

FAMILIES = {
    "colour": "Colour", "geometry": "Geometry", "resize": "Resize", "blur": "Blur and edges", "noise": "Noise",
    "erase": "Erase and paste", "decoders": "Decoders", "volumes": "Volumes", "audio": "Sound", "recipes": "Recipes",
}  # fmt: skip


# Arguments that are the two ends of a random range.
_RANGES = ("range", "random_area", "random_aspect_ratio", "scaling", "aspect_ratio")


def entry_line(entry: Entry) -> EntryLine:
    """An entry as the wall shows it."""
    places = places_in(entry.graph)
    return EntryLine(
        entry.name,
        entry.title,
        entry.family,
        entry.helps,
        entry.hurts,
        list(entry.tags),
        operators_of(entry),
        own=entry.folder.parent.resolve() != built_in_folder().resolve(),
        folder=str(entry.folder),
        views=len(Subject.of(entry).after),
        pictures=bool({PHOTOGRAPHS, ANNOTATED} & places),
        annotated=ANNOTATED in places,
        waiting=entry.waiting,
        terms=other_names("gallery", entry.name),
    )


def broken_line(entry: BrokenEntry) -> BrokenLine:
    """A broken entry as the wall shows it."""
    return BrokenLine(entry.name, str(entry.folder), sentence(entry.problem))


def families_of(entries: list[Entry]) -> list[GalleryFamily]:
    """The families in use, in the order in which they are shown; those that people made come last."""
    used = {entry.family for entry in entries}
    known = [GalleryFamily(name, title) for name, title in FAMILIES.items() if name in used]
    return known + [GalleryFamily(name, name.capitalize()) for name in sorted(used - set(FAMILIES))]


def operators_of(entry: Entry) -> list[str]:
    """The operators of an entry besides those that read and prepare pictures, each once."""
    own = set(fragment(entry)) if entry.before is not None else set(entry.graph.nodes)
    return list(dict.fromkeys(node.op for name, node in entry.graph.nodes.items() if name in own))


def entry_page(entry: Entry, photographs: Photographs) -> EntryPage:
    """An entry's page without its pictures; the graph reads from `photographs`."""
    random, document, code = False, entry.graph, ""
    if entry.waiting is None:
        graph = entry.over(photographs.folder if photographs.own else None)
        random, document = Subject.of(entry).random, with_groups(graph)
        try:
            code = dumps(graph, "python").decode("utf-8")
        except DaliLabError as error:
            code = f"# {sentence(str(error))}\n"
    shown = of_graph(document)
    instances = Instances(subgraphs.expanded(json_file.to_document(document))[1])
    return EntryPage(
        **structs.asdict(entry_line(entry)),
        random=random,
        document=shown,
        code=code,
        before=None if entry.before is None else json_file.edge_text(entry.before),
        fragment=list(dict.fromkeys(map(instances.owner, fragment(entry)))),
        controls=controls_of(entry),
        reference=[
            operator_entry(find_operator(op))
            for op in dict.fromkeys(node.op for node in entry.graph.nodes.values())
            if has_operator(op)
        ],
    )


def controls_of(entry: Entry) -> list[Control]:
    """The controls of an entry; labels that several of them have begin with the names of their nodes."""
    controls = [control for argument in entry.arguments if (control := control_of(entry, argument))]
    times = Counter(control.label for control in controls)
    return [
        structs.replace(control, label=f"{control.node.replace('_', ' ')}: {control.label}")
        if times[control.label] > 1
        else control
        for control in controls
    ]


def control_of(entry: Entry, argument: Argument) -> Control | None:
    """The control for an argument; `None` where its operator is not installed."""
    node = entry.graph.nodes[argument.node]
    if not has_operator(node.op):
        return None
    declared = next((arg for arg in find_operator(node.op).arguments if arg.name == argument.name), None)
    if declared is None:
        return None
    spec = argument_entry(declared)
    value = plain(node.arguments[argument.name]) if argument.name in node.arguments else spec.default
    kind, choices = "number", None
    if argument.minimum is None:
        kind = "switch" if spec.type == "bool" else "choice"
        choices = (spec.choices or []) if kind == "choice" else None
    elif argument.name in _RANGES and isinstance(value, list) and len(value) == 2:
        kind = "range"
    return Control(
        argument.node,
        argument.name,
        node.op,
        label_of(entry, argument),
        kind,
        bool(value) if kind == "switch" else value,
        spec.unit,
        spec.doc,
        integer=spec.type == "int",
        length=len(value) if isinstance(value, list) else None,
        minimum=argument.minimum,
        maximum=argument.maximum,
        choices=choices,
    )


def label_of(entry: Entry, argument: Argument) -> str:
    """The label of a control: for a random node, the argument that it feeds; else the argument's own name."""
    graph = entry.graph
    node = graph.nodes[argument.node]
    if not find_operator(node.op).makes_numbers:
        return argument.name.replace("_", " ")
    name, fed = argument.node, ""
    for _ in range(4):
        consumer = next((one for one in graph.nodes.values() if any(edge.node == name for edge in one.edges())), None)
        if consumer is None:
            break
        fed = next((key for key, edge in consumer.connections.items() if edge.node == name), "")
        if fed:
            break
        name = consumer.id
    what = fed.replace("_", " ") or argument.node.replace("_", " ")
    if argument.name == "range":
        return what
    return f"{what}: {argument.name.replace('_', ' ')}"
