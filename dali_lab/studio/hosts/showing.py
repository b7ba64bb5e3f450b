"""Batches in a notebook: a grid of pictures at their own range and layout."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.graph.graph import Graph
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.preview.pictures import Picture, coloured_labels, eight_bits, encode, fitted, picture, planes
from dali_lab.studio.preview.summaries import summary

Array = npt.NDArray[Any]
KEPT = "application/vnd.dali-lab.editor+json"
"""MIME type that JupyterLab's extension renders: the widget where its kernel runs, else its last picture."""
SHOWN = "dali-lab-shown"
"""CSS class of a batch's pictures."""
_SMALL = "font-size:12px;opacity:.75"
# Wrapping rows fill the available width also in layouts that ask for their preferred width.
_GRID = "display:flex;flex-wrap:wrap;gap:8px"
_CELL = "margin:0;max-width:100%;overflow-wrap:anywhere"
_NARROWEST = 112
_SOUND = 1000
_BOX_COLORS = ((74, 125, 240), (224, 130, 61), (31, 157, 139), (204, 79, 143), (201, 138, 27), (138, 99, 210))


class ShownPictures:
    """Pictures of a batch, for the end of a notebook cell.

    Attributes
    ----------
    pictures
        One for each sample, `None` where a sample is no picture.
    captions
        The text under each of them.
    title
        What the batch is: shape, type, layout, range.
    """

    def __init__(self, pictures: list[Picture | None], captions: list[str], title: str) -> None:
        self.pictures = pictures
        self.captions = captions
        self.title = title

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        cells = []
        for item, caption in zip(self.pictures, self.captions, strict=True):
            if item is None:
                body = ""
            else:
                data = base64.b64encode(item.data).decode("ascii")
                body = f'<img src="data:{item.mime};base64,{data}" style="max-width:100%;display:block" alt="">'
            text = html.escape(caption)
            # Long captions are broken: they must not push the pictures apart.
            width = "" if item is None else f";width:{max(item.width, _NARROWEST)}px"
            cells.append(
                f'<figure style="{_CELL}{width}">{body}<figcaption style="{_SMALL}">{text}</figcaption></figure>'
            )
        title = f'<div style="{_SMALL};margin-bottom:4px">{html.escape(self.title)}</div>'
        return f'<div class="{SHOWN}" style="line-height:1.4">{title}<div style="{_GRID}">{"".join(cells)}</div></div>'


def show(
    batch: object,
    *,
    labels: object = None,
    boxes: object = None,
    masks: object = None,
    names: Sequence[str] | None = None,
    size: int = 224,
    limit: int = 64,
) -> ShownPictures:
    """Show a batch as a grid of pictures.

    Parameters
    ----------
    batch
        A list of tensors, as a pipeline returns it; an array whose first dimension counts the samples; or a list of
        arrays.
    labels
        One number or text for each sample.
    boxes
        For each sample ``[count, 4]``: left, top, right, bottom, in pixels, or as parts of the size where none is over
        1.
    masks
        For each sample class numbers of the size of the picture.
    names
        The label's name, by its number.
    size
        Longer side of a picture in pixels.
    limit
        Samples shown at most.

    Returns
    -------
    Shown
        Displayed by a notebook as it is.

    Raises
    ------
    DaliLabError
        If this is no batch, or labels, boxes or masks are for another number of samples.
    """
    for name, number in (("size", size), ("limit", limit)):
        if number < 1:
            raise DaliLabError(f"at least 1 is needed, not {number}", argument=name)
    own = as_batch(batch)
    count = min(len(own), limit)
    described = summary(own, count, (), "audio" if _is_sound(own) else "any")
    extras = {"labels": labels, "boxes": boxes, "masks": masks}
    rows = {name: None if given is None else _rows(given, len(own), name) for name, given in extras.items()}
    pictures: list[Picture | None] = []
    captions = []
    for index in range(count):
        array = own.array(index)
        if described.output.kind == "image" and (rows["boxes"] is not None or rows["masks"] is not None):
            frame = eight_bits(planes(array, own.layout)[0], described.scale)
            mask = None if rows["masks"] is None else _mask(rows["masks"][index], frame.shape[:2])
            found = None if rows["boxes"] is None else _boxes(rows["boxes"][index])
            pictures.append(encode(fitted(_marked(frame, found, mask), size)))
        else:
            pictures.append(picture(array, own.layout, described.output.kind, described.scale, size))
        captions.append(_caption(index, array, rows["labels"], names, described.output.values))
    shapes = {tuple(shape) for shape in own.shapes.tolist()}
    shape = _shape(next(iter(shapes))) if len(shapes) == 1 else "different shapes" if shapes else "nothing"
    low_high = described.output.range
    title = f"{len(own)} × {shape}, {own.dtype.name} {own.layout}".rstrip()
    return ShownPictures(pictures, captions, title if low_high is None else f"{title}, {low_high[0]} to {low_high[1]}")


def as_batch(given: Any) -> Batch:
    """A batch from arrays or tensors.

    Raises
    ------
    DaliLabError
        If it is none.
    """
    if isinstance(given, Batch):
        return given
    if isinstance(given, tuple) and len(given) == 1:
        return as_batch(given[0])
    own = getattr(given, "_batch", None)
    if isinstance(own, Batch):
        return own
    if isinstance(given, (Pipeline, Graph)):
        raise DaliLabError(
            "this is a pipeline, and no batch yet: show(pipe.run()[0]) shows its next one, preview(pipe) steps through "
            "its batches"
        )
    if isinstance(given, tuple) and given and all(isinstance(getattr(each, "_batch", None), Batch) for each in given):
        raise DaliLabError(f"these are the {len(given)} outputs of a pipeline: show one, as in show(outputs[0])")
    layout = given.layout() if callable(getattr(given, "layout", None)) else ""
    try:
        if hasattr(given, "detach"):
            given = given.detach().cpu()
            given = (given.float() if str(given.dtype) == "torch.bfloat16" else given).numpy()
        if isinstance(given, np.ndarray) and given.ndim >= 1:
            return Batch.dense(given, _guessed(given.shape[1:]))
        rows = [np.asarray(row) for row in given]
        return Batch.of(rows, layout or (_guessed(rows[0].shape) if rows else ""))
    except (TypeError, ValueError) as error:
        raise DaliLabError(f"{kind_of(given)} cannot be shown as a batch: {error}") from None


def kind_of(given: object) -> str:
    """A wrong argument, described for an error message."""
    name = getattr(given, "__name__", None)
    if callable(given) and name:
        return f"a function (what '{name}()' returns was meant, perhaps)"
    return f"a value of type {type(given).__name__}"


def _guessed(shape: tuple[int, ...]) -> str:
    """The layout of pictures without one, by where their channels are."""
    if len(shape) == 3:
        return "CHW" if shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4) else "HWC"
    if len(shape) == 4 and shape[3] in (1, 3, 4):
        return "FHWC"
    return "HW" if len(shape) == 2 and shape[1] > 2 else ""


def _is_sound(batch: Batch) -> bool:
    """Whether samples without a layout are long enough, and of a type, to be sound in one or two channels."""
    if batch.layout or batch.ndim not in (1, 2) or not len(batch) or batch.dtype.name not in ("FLOAT", "INT16"):
        return False
    return bool((batch.shapes[:, 0] >= _SOUND).all()) and (batch.ndim == 1 or bool((batch.shapes[:, 1] <= 2).all()))


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _boxes(given: object) -> Array:
    """The boxes of one sample, ``[count, 4]``."""
    try:
        return np.asarray(given, np.float64).reshape(-1, 4)
    except (TypeError, ValueError) as error:
        raise DaliLabError(f"boxes are rows of left, top, right, bottom: {error}", argument="boxes") from error


def _mask(given: object, size: tuple[int, ...]) -> Array:
    """The class numbers of one sample, ``[height, width]``."""
    mask = np.asarray(given)
    flat = mask.squeeze() if mask.ndim > 2 else mask
    if flat.shape != size or flat.dtype.kind not in "biuf":
        sizes = "×".join(map(str, mask.shape)), "×".join(map(str, size))
        raise DaliLabError(f"a mask of {sizes[0]} does not lie over a picture of {sizes[1]}", argument="masks")
    return np.rint(np.nan_to_num(flat)) if flat.dtype.kind == "f" else flat


def _rows(given: Any, count: int, name: str) -> list[Any]:
    own = getattr(given, "_batch", None)
    rows = own.arrays() if isinstance(own, Batch) else list(given)
    if len(rows) != count:
        raise DaliLabError(f"there are {len(rows)} {name} for {count} samples", argument=name)
    return rows


def _caption(index: int, array: Array, labels: list[Any] | None, names: Sequence[str] | None, values: Any) -> str:
    parts = [str(index)]
    if labels is not None:
        label = labels[index]
        flat = np.asarray(label).reshape(-1)
        number = flat[0].item() if flat.size == 1 and flat.dtype.kind in "iu" else None
        if number is not None and names is not None and 0 <= number < len(names):
            parts.append(str(names[number]))
        else:
            parts.append(str(flat[0]) if flat.size == 1 else str(label))
    if values:
        parts.append(str(values[index]))
    parts.append(_shape(array.shape))
    return " · ".join(parts)


def _marked(frame: Array, boxes: Array | None, mask: Array | None) -> Array:
    """The picture with boxes drawn, and masks laid over it."""
    import cv2

    height, width = frame.shape[:2]
    result = np.ascontiguousarray(np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else frame[..., :3]).copy()
    if mask is not None:
        colours = coloured_labels(mask)
        where = mask > 0
        result[where] = (0.55 * result[where] + 0.45 * colours[where]).astype(np.uint8)
    if boxes is not None and boxes.size:
        scale = [width, height] * 2 if np.nanmax(boxes, initial=0.0) <= 1.0 else [1] * 4
        # Coordinates far outside the picture are clipped to just outside it.
        for number, box in enumerate(np.clip(boxes * scale, -width - height, 2 * (width + height))):
            if np.isnan(box).any():
                continue
            left, top, right, bottom = (round(value) for value in box.tolist())
            colour = _BOX_COLORS[number % len(_BOX_COLORS)]
            cv2.rectangle(result, (left, top), (right - 1, bottom - 1), colour, max(1, round(max(height, width) / 160)))
    return result
