"""Small COCO data for tests: pictures that are their names, and objects of all forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

HEIGHT, WIDTH = 24, 30


def annotations(pictures: int = 9, objects: int = 40) -> dict[str, Any]:
    """Pictures in no order of ids, some without objects; objects as polygons, lists of runs and compressed ones."""
    rng = np.random.default_rng(3)
    ids = rng.permutation(pictures) * 7 + 2
    images = [
        {"id": int(number), "file_name": f"{index}.jpg", "width": WIDTH, "height": HEIGHT, "license": None}
        for index, number in enumerate(ids)
    ]
    rows = []
    for index in range(objects):
        box = rng.uniform(-2, 20, 4).round(2).tolist()
        shape: Any = [
            polygon.round(2).tolist() for polygon in rng.uniform(-3, 33, (1 + index % 3, 2 * (3 + index % 4)))
        ]
        if index % 5 == 4:
            shape = {"size": [HEIGHT, WIDTH], "counts": "U1X15`2S6YMe2" if index % 2 else runs(rng)}
        rows.append(
            {
                "id": 100 + index, "image_id": int(rng.choice(ids[:-2])), "category_id": [90, 3, 17, 44][index % 4],
                "bbox": box, "segmentation": shape, "iscrowd": int(index % 5 == 4), "area": 1.5,
            }
        )  # fmt: skip
    rows.append({"id": 1, "image_id": 12345, "category_id": 3, "bbox": [0, 0, 5, 5], "segmentation": []})
    return {
        "info": {"year": 2026},
        "annotations": rows,
        "images": images,
        "categories": [{"id": 90, "name": "a"}, {"id": 3}, {"id": 44}],
    }


def runs(rng: np.random.Generator) -> list[int]:
    """Lengths of runs that cover a picture."""
    ends = np.unique(rng.integers(1, HEIGHT * WIDTH, 8))
    return [int(length) for length in np.diff([0, *ends, HEIGHT * WIDTH])]


def write(folder: Path, data: Any) -> dict[str, str]:
    """Write pictures and annotations; the arguments that read them."""
    for image in data["images"]:
        (folder / image["file_name"]).write_bytes(image["file_name"].encode())
    path = folder / "annotations.json"
    path.write_text(json.dumps(data))
    return {"file_root": str(folder), "annotations_file": str(path)}
