"""An entry as its page shows it: text, controls, graph, code, and the operators in it."""

from __future__ import annotations

from typing import Any

from dali_lab.formats import dumps
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.gallery.entries import Argument, BrokenEntry, Entry
from dali_lab.gallery.fragments import fragment
from dali_lab.gallery.places import ANNOTATED, PHOTOGRAPHS, built_in_folder, places_in
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.catalogue import argument_entry, operator_entry, plain
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.document.graph_document import sentence
from dali_lab.studio.gallery.drawing import Photographs, Subject

Json = dict[str, Any]
FAMILIES = {
    "colour": "Colour", "geometry": "Geometry", "resize": "Resize", "blur": "Blur and edges", "noise": "Noise",
    "erase": "Erase and paste", "decoders": "Decoders", "volumes": "Volumes", "audio": "Sound", "recipes": "Recipes",
}  # fmt: skip


# Arguments that are two numbers between which something is drawn.
_RANGES = ("range", "random_area", "random_aspect_ratio", "scaling", "aspect_ratio")


def entry_line(entry: Entry) -> Json:
    """An entry as the wall shows it."""
    line: Json = {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "helps": entry.helps,
        "hurts": entry.hurts,
        "tags": list(entry.tags),
        "operators": operators_of(entry),
        "own": entry.folder.parent.resolve() != built_in_folder().resolve(),
        "folder": str(entry.folder),
        "views": len(Subject.of(entry).after),
        "pictures": bool({PHOTOGRAPHS, ANNOTATED} & places_in(entry.graph)),
        "annotated": ANNOTATED in places_in(entry.graph),
    }
    if entry.waiting is not None:
        line["waiting"] = entry.waiting
    return line


def broken_line(entry: BrokenEntry) -> Json:
    """A broken entry as the wall shows it."""
    return {"name": entry.name, "folder": str(entry.folder), "problem": sentence(entry.problem)}


def families_of(entries: list[Entry]) -> list[Json]:
    """The families in use, in the order in which they are shown; those that people made come last."""
    used = {entry.family for entry in entries}
    known = [{"name": name, "title": title} for name, title in FAMILIES.items() if name in used]
    return known + [{"name": name, "title": name.capitalize()} for name in sorted(used - set(FAMILIES))]


def operators_of(entry: Entry) -> list[str]:
    """The operators of an entry that are not there to read and to prepare pictures, each once."""
    own = set(fragment(entry)) if entry.before is not None else set(entry.graph.nodes)
    return list(dict.fromkeys(node.op for name, node in entry.graph.nodes.items() if name in own))


def entry_page(entry: Entry, photographs: Photographs | None) -> Json:
    """All that an entry's page shows besides pictures; the graph reads from `photographs`."""
    page = entry_line(entry)
    if entry.waiting is None:
        graph = entry.over(photographs.folder if photographs is not None and photographs.own else None)
        page["random"] = Subject.of(entry).random
        page["document"] = json_file.to_document(with_groups(graph))
        try:
            page["code"] = dumps(graph, "python").decode("utf-8")
        except DaliLabError as error:
            page["code"] = f"# {sentence(str(error))}\n"
    else:
        page["random"] = False
        page["document"] = json_file.to_document(entry.graph)
        page["code"] = ""
    page["before"] = None if entry.before is None else json_file.edge_text(entry.before)
    page["fragment"] = list(fragment(entry))
    page["controls"] = [control for argument in entry.arguments if (control := control_of(entry, argument))]
    page["reference"] = [
        operator_entry(find_operator(op))
        for op in dict.fromkeys(node.op for node in entry.graph.nodes.values())
        if has_operator(op)
    ]
    return page


def control_of(entry: Entry, argument: Argument) -> Json | None:
    """The control for an argument; `None` where its operator is not installed."""
    node = entry.graph.nodes[argument.node]
    if not has_operator(node.op):
        return None
    declared = next((arg for arg in find_operator(node.op).arguments if arg.name == argument.name), None)
    if declared is None:
        return None
    spec = argument_entry(declared)
    value = plain(node.arguments[argument.name]) if argument.name in node.arguments else spec["default"]
    control: Json = {
        "node": argument.node,
        "name": argument.name,
        "op": node.op,
        "label": label_of(entry, argument),
        "value": value,
        "unit": spec["unit"],
        "doc": spec["doc"],
        "integer": spec["type"] == "int",
        "length": len(value) if isinstance(value, list) else None,
    }
    if argument.minimum is None:
        if spec["type"] == "bool":
            return {**control, "kind": "switch", "value": bool(value)}
        return {**control, "kind": "choice", "choices": spec["choices"] or []}
    pair = argument.name in _RANGES and isinstance(value, list) and len(value) == 2
    return {**control, "kind": "range" if pair else "number", "minimum": argument.minimum, "maximum": argument.maximum}


def label_of(entry: Entry, argument: Argument) -> str:
    """What a control is called: for a random node, the argument that it feeds; else the argument's own name."""
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
