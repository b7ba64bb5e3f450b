"""Graphs to begin with: the first pipeline over a folder of pictures; the editor lays it out for its window."""

from __future__ import annotations

from pathlib import Path

from dali_lab.schema.registry import has_operator
from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.protocol.documents import Document, GraphNode

_STEPS: tuple[tuple[str, GraphNode], ...] = (
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
    nodes: dict[str, GraphNode] = {
        "reader": {"op": "readers.file", "device": "cpu", "arguments": {"file_root": str(folder)}}
    }
    before = "reader"
    for name, entry in _STEPS:
        if not has_operator(entry["op"]):
            continue
        node: GraphNode = {**entry, "inputs": [before], "arguments": dict(entry.get("arguments", {}))}
        if name == "rotate" and has_operator("random.uniform"):
            nodes["angle"] = {"op": "random.uniform", "device": "cpu", "arguments": {"range": [-25.0, 25.0]}}
            node["connections"] = {"angle": "angle"}
        nodes[name] = node
        before = name
    document["nodes"] = nodes
    document["outputs"] = [before] if before != "reader" else []
    document["outputs"].append("reader:1")
    return document
