"""Graphs to begin with: the first pipeline over a folder of pictures, laid out to be read from left to right."""

from __future__ import annotations

from pathlib import Path

from dali_lab.schema.registry import has_operator
from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.protocol.documents import Document

_COLUMN = 264
_STEPS: tuple[tuple[str, Document], ...] = (
    ("decode", {"op": "decoders.image", "device": "cpu", "arguments": {}}),
    ("resize", {"op": "resize", "device": "cpu", "arguments": {"resize_shorter": 256.0}}),
    ("rotate", {"op": "rotate", "device": "cpu", "arguments": {"fill_value": 0.0, "keep_size": True}}),
    (
        "brightness_contrast",
        {"op": "brightness_contrast", "device": "cpu", "arguments": {"brightness": 1.1, "contrast": 1.2}},
    ),
    (
        "normalize",
        {
            "op": "crop_mirror_normalize",
            "device": "cpu",
            "arguments": {
                "dtype": "FLOAT",
                "crop": [224.0, 224.0],
                "mean": [123.675, 116.28, 103.53],
                "std": [58.395, 57.12, 57.375],
                "output_layout": "CHW",
            },
        },
    ),
)


def first_pipeline(folder: Path | str) -> Document:
    """Reader, decoder, resize, rotation by a random angle, brightness and contrast, normalisation, over `folder`.

    Steps whose operator is not installed are left out.
    """
    document = empty_document()
    nodes: Document = {"reader": {"op": "readers.file", "device": "cpu", "arguments": {"file_root": str(folder)}}}
    places: Document = {"reader": {"x": 0, "y": 0}}
    before, column = "reader", 1
    for name, entry in _STEPS:
        if not has_operator(entry["op"]):
            continue
        node = {**entry, "inputs": [before], "arguments": dict(entry["arguments"])}
        if name == "rotate" and has_operator("random.uniform"):
            nodes["angle"] = {"op": "random.uniform", "device": "cpu", "arguments": {"range": [-25.0, 25.0]}}
            places["angle"] = {"x": (column - 1) * _COLUMN, "y": 440}
            node["connections"] = {"angle": "angle"}
        nodes[name] = node
        places[name] = {"x": column * _COLUMN, "y": 0}
        before, column = name, column + 1
    document["nodes"] = nodes
    document["outputs"] = [before] if before != "reader" else []
    document["outputs"].append("reader:1")
    document["view"]["nodes"] = places
    return document
