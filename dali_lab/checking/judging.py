"""Judges the samples of a dataset by comparing them with each other: types, sizes, shapes, content."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dali_lab.checking.facts import NO_LABEL, Facts, Numbers, axes
from dali_lab.checking.findings import Finding

FEW = 20
"""Samples from which on there is something usual."""
RARE = 0.01
"""The largest share of samples of a type that is reported beside a usual one."""
USUAL = 0.9
"""The least share of samples that makes a type the usual one."""
MANY = 0.05
"""The share of outliers from which on sizes just spread."""
FACTOR = 8.0
"""Ratio to the median from which on a size is unusual."""
ELONGATED = 10.0
"""The ratio of the sides of a picture that is extreme."""
SMALL_SIDE = 8
"""Pixels of a side that are extremely few."""
LARGE_PICTURE = 100_000_000
"""Pixels of a picture that are extremely many."""
_TITLES = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "bmp": "BMP", "tif": "TIFF", "tiff": "TIFF", "webp": "WebP"}

Names = Callable[[Numbers], tuple[str, ...]]


def judged(reader: str, facts: Facts, names: Names) -> list[Finding]:
    """Findings about the samples of a reader in comparison with each other.

    Parameters
    ----------
    names
        Gives the names of samples by their places.
    """
    if not len(facts):
        return []
    found: list[Finding] = []
    for judge in (_types, _sizes, _shapes, _duplicates):
        for kind, row, message in judge(facts, names):
            place = int(facts.places[row])
            (name,) = names(facts.places[row : row + 1])
            found.append(Finding(kind, reader, message, place, name))
    return found


Found = Iterator[tuple[str, int, str]]


def _types(facts: Facts, names: Names) -> Found:
    yield from _rare(facts.kinds, lambda code: facts.titles[code], "samples are")
    pictures = np.array([(axes(title) or ("",))[0] == "height" for title in facts.titles], bool)[facts.kinds]
    channels = np.where(pictures, facts.shapes[:, 2], -1)
    if pictures.any():
        words = {1: "grey", 2: "grey with alpha", 3: "in colour", 4: "of four channels"}
        yield from _rare(channels, lambda n: words.get(n, f"of {n} channels"), "samples are", pictures)
    rows = np.flatnonzero(pictures)
    for row, name in zip(rows.tolist(), names(facts.places[rows]), strict=True):
        ending = name.rpartition(".")[2].lower()
        title = facts.titles[int(facts.kinds[row])].partition(",")[0]
        if ending in _TITLES and _TITLES[ending] != title:
            yield "type", row, f"the name ends with .{ending}, and the file is {title}"


def _rare(codes: Numbers, words: Callable[[int], str], verb: str, among: npt.NDArray[np.bool_] | None = None) -> Found:
    """Samples of a rare type beside a usual one."""
    rows = np.arange(len(codes)) if among is None else np.flatnonzero(among)
    values, counts = np.unique(codes[rows], return_counts=True)
    if len(rows) < FEW or len(values) < 2 or counts.max() < USUAL * len(rows):
        return
    usual = int(values[counts.argmax()])
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if value != usual and count <= max(1.0, RARE * len(rows)):
            message = f"{words(value)}, where {counts.max():,} of {len(rows):,} {verb} {words(usual)}"
            yield from (("type", int(row), message) for row in rows[codes[rows] == value])


def _sizes(facts: Facts, names: Names) -> Found:
    if len(facts) < FEW:
        return
    logs = np.log2(np.maximum(facts.sizes, 1))
    median = float(np.median(logs))
    spread = 1.4826 * float(np.median(np.abs(logs - median)))
    rows = np.flatnonzero(np.abs(logs - median) > max(6 * spread, np.log2(FACTOR)))
    if len(rows) > MANY * len(facts):
        return
    for row in rows.tolist():
        word = "more" if logs[row] > median else "fewer"
        yield "size", row, f"{facts.sizes[row]:,} bytes, far {word} than the median of {2**median:,.0f}"


def _shapes(facts: Facts, names: Names) -> Found:
    kinds = [axes(title) for title in facts.titles]
    for code, named in enumerate(kinds):
        rows = np.flatnonzero(facts.kinds == code)
        shapes = facts.shapes[rows]
        if named is not None and named[0] == "height":
            sides = np.maximum(shapes[:, :2], 1)
            long, short = sides.max(axis=1), sides.min(axis=1)
            for row, (height, width), high, low in zip(
                rows.tolist(), sides.tolist(), long.tolist(), short.tolist(), strict=True
            ):
                if high > ELONGATED * low:
                    yield "shape", row, f"{height:,} × {width:,} pixels: one side is {high / low:.0f} times the other"
                elif low < SMALL_SIDE:
                    yield "shape", row, f"{height:,} × {width:,} pixels: extremely small"
                elif high * low > LARGE_PICTURE:
                    yield "shape", row, f"{height:,} × {width:,} pixels: extremely large"
        else:
            for row in rows[(shapes == 0).any(axis=1)].tolist():
                yield "shape", row, "no elements"


def _duplicates(facts: Facts, names: Names) -> Found:
    _, first, group = np.unique(facts.digests, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    repeated = np.flatnonzero(first[group] != np.arange(len(facts)))
    originals = first[group[repeated]]
    said = names(facts.places[originals])
    for row, original, name in zip(repeated.tolist(), originals.tolist(), said, strict=True):
        label, other = int(facts.labels[row]), int(facts.labels[original])
        if NO_LABEL not in (label, other) and label != other:
            yield "two_labels", row, f"the content of '{name}', which has label {other}; this has label {label}"
        else:
            yield "duplicate", row, f"the content of '{name}'"
