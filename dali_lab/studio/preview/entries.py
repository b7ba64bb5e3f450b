"""Outputs, pictures and errors as the protocol writes them."""

from __future__ import annotations

from typing import Any

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.document.graph_document import sentence
from dali_lab.studio.preview.pictures import Picture
from dali_lab.studio.preview.rendering import Rendered
from dali_lab.studio.preview.results import NodeResult

Json = dict[str, Any]


def output_entry(rendered: Rendered, buffers: list[bytes]) -> Json:
    """An output as the protocol writes it; its pictures are added to `buffers`."""
    return {**rendered.summary.fields, "images": picture_entries(rendered.pictures, buffers)}


def picture_entries(pictures: list[Picture | None], buffers: list[bytes]) -> list[Json | None]:
    """Pictures as the protocol writes them; their bytes are added to `buffers`. Empty where none is a picture."""
    if not any(pictures):
        return []
    entries: list[Json | None] = []
    for item in pictures:
        if item is None:
            entries.append(None)
            continue
        entries.append({"buffer": len(buffers), "mime": item.mime, "width": item.width, "height": item.height})
        buffers.append(item.data)
    return entries


def node_error(result: NodeResult) -> Json:
    """The first thing that went wrong at a node, and how many samples failed like it."""
    first = result.failures[0]
    entry = error_entry(first.error)
    entry.pop("node", None)
    if first.sample is not None:
        entry["sample"] = first.sample
        others = len(result.failures) - 1
        if others:
            entry["message"] += f" ({others} more of {result.count} samples failed.)"
    return entry


def error_entry(error: BaseException) -> Json:
    """An error as the protocol writes it."""
    if not isinstance(error, DaliLabError):
        return {"message": sentence(str(error) or type(error).__name__)}
    entry: Json = {"message": sentence(error.message)}
    for name, value in (
        ("node", error.node),
        ("argument", error.argument),
        ("file", error.source),
        ("line", error.origin),
    ):
        if value is not None:
            entry[name] = value
    return entry
