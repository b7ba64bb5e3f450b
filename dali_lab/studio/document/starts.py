"""Graphs to begin with: the first pipeline over a folder of pictures; the editor lays it out for its window."""

from __future__ import annotations

from pathlib import Path

from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.protocol.documents import Document, GraphNode
from dali_lab.studio.protocol.values import Value

_NORMALIZED: dict[str, Value] = {
    "dtype": "FLOAT",
    "crop": [224.0, 224.0],
    "mean": [123.675, 116.28, 103.53],
    "std": [58.395, 57.12, 57.375],
    "output_layout": "CHW",
}


def first_pipeline(folder: Path | str) -> Document:
    """Reader, decoder, resize, rotation by a random angle, brightness and contrast, normalisation, over `folder`."""

    def node(op: str, source: str | None = None, **arguments: Value) -> GraphNode:
        entry: GraphNode = {"op": op, "device": "cpu", "arguments": arguments}
        return {**entry, "inputs": [source]} if source else entry

    rotate = node("rotate", "resize", fill_value=0.0, keep_size=True)
    return {
        **empty_document(),
        "nodes": {
            "reader": node("readers.file", file_root=str(folder)),
            "decode": node("decoders.image", "reader"),
            "resize": node("resize", "decode", resize_shorter=256.0),
            "angle": node("random.uniform", range=[-25.0, 25.0]),
            "rotate": {**rotate, "connections": {"angle": "angle"}},
            "brightness_contrast": node("brightness_contrast", "rotate", brightness=1.1, contrast=1.2),
            "normalize": node("crop_mirror_normalize", "brightness_contrast", **_NORMALIZED),
        },
        "outputs": ["normalize", "reader:1"],
    }
