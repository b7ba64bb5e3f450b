"""Pastes regions of several images into each result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, INT32, UINT8, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, OneOf, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import integers

DTYPES = (UINT8, INT16, INT32, FLOAT)
Table = npt.NDArray[np.int64]


def _regions(name: str, doc: str, relative: bool = False) -> Arg:
    return Arg(
        name,
        "float" if relative else "int",
        None,
        doc + " One row of y and x for each pasted region" + (", as shares of the extent." if relative else "."),
        per_frame=True,
        unit=None if relative else "px",
    )


@register
class MultiPaste(Operator):
    """Pastes regions of several images into each result, one over the other, on a black canvas.

    With `in_ids` there is one input, and each result is made of the samples of the batch that its list names. Without
    it, each result is made of its own sample of every input. Relative anchors are rounded down, relative shapes up.
    """

    name = "multi_paste"
    title = "Multi-paste"
    inputs = (
        Input(
            "data",
            dtypes=DTYPES,
            layouts=("HWC",),
            doc="Images or sequences of {types}; several without `in_ids`.",
            variadic=True,
        ),
    )
    outputs = (Output("data", doc="Images of `output_size`, of `dtype`, with the channels and layout of the inputs."),)
    on_gpu = True
    frames = True
    whole_batch = True
    arguments = (
        integers("in_ids", None, "Which samples of the batch are pasted.", tensor=True, important=True),
        integers(
            "output_size",
            None,
            "Height and width of the result; that of the inputs if not given and all are alike. What follows the two,"
            " such as channels, is left out.",
            length=2,
            longer=True,
            tensor=True,
            unit="px",
            minimum=0,
            important=True,
        ),
        _regions("in_anchors", "Corner of the region in its image; the image's if not given."),
        _regions("in_anchors_rel", "The same, relative to the image.", relative=True),
        _regions("shapes", "Size of the region; to the end of its image if not given."),
        _regions("shapes_rel", "The same, relative to the image.", relative=True),
        _regions("out_anchors", "Corner of the region in the result; that of the result if not given."),
        _regions("out_anchors_rel", "The same, relative to the result.", relative=True),
        Arg("dtype", "dtype", None, "Type of the result; that of the input if not given.", or_no_type=True),
    )
    rules = tuple(OneOf(name, f"{name}_rel") for name in ("in_anchors", "shapes", "out_anchors"))
    start = {"output_size": [512, 512]}
    example = """
    >>> corners = fn.constant(idata=[0, 0, 0, 224], shape=(2, 2))
    >>> fn.multi_paste(images, in_ids=[0, 1], output_size=(224, 448), out_anchors=corners)
    """
    differs = "Sequences work with `in_ids` and without; NVIDIA DALI fails for them on the CPU."

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        for name in ("in_anchors", "shapes", "out_anchors", "in_anchors_rel", "shapes_rel", "out_anchors_rel"):
            if name in values:
                raise ArgumentError("takes a node that gives rows of y and x, such as fn.constant", argument=name)
        if inputs > 1 and ("in_ids" in values or "in_ids" in connected):
            raise ArgumentError(f"needs one input, there are {inputs}", argument="in_ids")

    def run(self, call: Call, *inputs: Batch) -> Batch:
        data = inputs[0]
        dtype = call.result_type(data, DTYPES)
        for index, batch in enumerate(inputs):
            if batch.dtype != data.dtype or len(batch) != call.count:
                raise call.problem(f"input {index} must have the type and the number of samples of the first one")
        owners, image_of = self._pasted(call, inputs)
        every = Batch.concat([batch.replaced(layout=data.layout) for batch in inputs]) if len(inputs) > 1 else data
        canvas = self._canvas(call, every)
        channels = self._channels(call, every, owners, image_of)
        shapes = np.column_stack([canvas, channels])
        image = every.shapes[image_of]
        count = np.bincount(owners, minlength=call.count)
        anchor = self._table(call, "in_anchors", count, image[:, :2], np.floor)
        to = self._table(call, "out_anchors", count, canvas[owners], np.floor)
        extent = self._table(call, "shapes", count, image[:, :2], np.ceil)
        anchor = np.zeros_like(image[:, :2]) if anchor is None else anchor
        to = np.zeros_like(anchor) if to is None else to
        extent = image[:, :2] - anchor if extent is None else extent
        within, space = image[:, :2], canvas[owners]
        message = "The pasted region must be within {1}. Got {0} anchor: {{:x}}, pasted region shape: {{:x}},"
        message += " {0} shape: {{:x}}"
        beyond = (anchor < 0) | (extent < 0) | (anchor + extent > within)
        text = message.format("input", "input sample")
        call.refuse(beyond, text, anchor, extent, within, owners=owners)
        text = message.format("output", "output bounds")
        call.refuse((to < 0) | (to + extent > space), text, to, extent, space, owners=owners)
        out = call.allocate(shapes, dtype, data.layout)
        pitches = np.column_stack(
            [image[:, 1] * image[:, 2] * data.itemsize, canvas[owners, 1] * channels[owners] * out.itemsize]
        )
        call.kernels("paste").paste_regions(
            out.addresses,
            out.sizes,
            every.addresses[image_of] + anchor[:, 0] * pitches[:, 0] + anchor[:, 1] * image[:, 2] * data.itemsize,
            out.addresses[owners] + to[:, 0] * pitches[:, 1] + to[:, 1] * channels[owners] * out.itemsize,
            pitches,
            extent[:, 0],
            extent[:, 1] * image[:, 2],
            data.kind,
            numpy_dtype(dtype),
        )
        out.sources = _sources(every, owners, image_of, call.count)
        return out

    def _pasted(self, call: Call, inputs: Sequence[Batch]) -> tuple[Table, Table]:
        """The result of each region, and its image among those of all inputs one after the other."""
        if not self.has("in_ids"):
            owners = np.repeat(np.arange(call.count), len(inputs))
            return owners, owners + call.count * np.tile(np.arange(len(inputs)), call.count)
        lists = call.lists("in_ids", np.int64) or []
        counts = np.array([row.size for row in lists], np.int64)
        owners = np.repeat(np.arange(call.count), counts)
        ids = np.concatenate(lists) if lists else np.zeros(0, np.int64)
        frames = call.repeat if call.repeat is not None else np.ones(call.count, np.int64)
        wrong = (ids < 0) | (ids >= len(frames))
        message = f"{{}} is not one of the {len(frames)} samples. The `in_idx` must be in range [0, {len(frames)})."
        message += f" Got in_idx: {{}}. Input batch size is: {len(frames)}."
        call.refuse(wrong, message, ids, ids, argument="in_ids", owners=owners)
        starts = np.cumsum(frames) - frames
        sequence = np.repeat(np.arange(len(frames)), frames)[owners]
        frame = owners - starts[sequence]
        late = frame >= frames[ids]
        if late.any():
            index = int(late.argmax())
            raise call.problem(
                f"sequence {ids[index]} has {frames[ids[index]]} frames, the result {frames[sequence[index]]}",
                argument="in_ids",
            )
        return owners, starts[ids] + frame

    def _canvas(self, call: Call, every: Batch) -> Table:
        if self.has("output_size"):
            rows = [row[:2] for row in call.lists("output_size", np.int64) or []]
            empty = next((index for index, row in enumerate(rows) if not row.size), None)
            if empty is not None:
                raise call.problem("needs a height and a width, got nothing", argument="output_size", sample=empty)
            return np.array([np.resize(row, 2) for row in rows], np.int64).reshape(-1, 2)
        sizes = every.shapes[:, :2]
        if len(sizes) and (sizes != sizes[0]).any():
            message = "must be given, as the inputs differ in size. If the `output_size` is not specified,"
            raise call.problem(f"{message} all the input samples must have the same shape.", argument="output_size")
        return np.ascontiguousarray(sizes[: call.count])

    def _channels(self, call: Call, every: Batch, owners: Table, image_of: Table) -> Table:
        channels = every.shapes[: call.count, 2].copy()
        channels[owners[::-1]] = every.shapes[image_of[::-1], 2]
        here, there = channels[owners], every.shapes[image_of, 2]
        message = "pastes images of {} and of {} channels."
        message += " All regions pasted into given output sample must have the same number of channels"
        call.refuse(here != there, message, here, there, owners=owners)
        return channels

    def _table(self, call: Call, name: str, count: Table, extent: Table, rounded: Any) -> Table | None:
        """Rows of y and x for all regions, ``int64[K, 2]``, or `None` if not given."""
        relative = f"{name}_rel"
        used = relative if self.has(relative) else name
        batch = call.batches.get(used)
        if batch is None:
            return None
        arrays = batch.arrays()
        if call.repeat is not None:
            by_frame = batch.layout.startswith("F")
            arrays = [
                array[min(frame, len(array) - 1)] if by_frame else array
                for array, frames in zip(arrays, call.repeat.tolist(), strict=True)
                for frame in range(frames)
            ]
        for index, array in enumerate(arrays):
            if array.shape != (count[index], 2):
                raise call.problem(
                    f"needs {count[index]} rows of y and x, got shape {list(array.shape)}", argument=used, sample=index
                )
        table = np.concatenate(arrays) if arrays else np.zeros((0, 2))
        if used == name:
            return table.astype(np.int64)
        wrong, owners = ~((table >= 0) & (table <= 1)), np.repeat(np.arange(len(count)), count)
        call.refuse(wrong, "must be float in [0, 1] range, got {}", table, argument=used, owners=owners)
        return np.asarray(rounded(table.astype(np.float32) * extent.astype(np.float32)), np.int64)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        alike = samples.pictures(((20, 30),) * 3)
        mixed = samples.pictures()
        ids = _rows([0, 1], [2], [1, 1])
        anchors = _rows([[0, 0], [2, 3]], [[1, 1]], [[0, 0], [5, 5]])
        shares = _rows([[0, 0.13], [0.26, 0.37]], [[0.49, 0.51]], [[0.33, 0], [0.5, 0.7]], dtype=np.float32)
        sizes = _rows([[5, 6], [7, 8]], [[20, 1]], [[0, 0], [15, 25]])
        yield from Case.each(
            (alike,),
            {},
            {"in_ids": ids},
            {"in_ids": (1,)},
            {"in_ids": ids, "in_anchors": anchors, "out_anchors": anchors},
            {"in_ids": ids, "in_anchors": anchors},
            {"in_ids": ids, "shapes": sizes},
            {"in_ids": ids, "in_anchors_rel": shares},
            {"in_ids": ids, "shapes_rel": shares},
            {"in_ids": ids, "out_anchors_rel": shares, "output_size": (60, 110)},
            {"in_ids": ids, "in_anchors_rel": shares, "out_anchors_rel": shares},
            {"in_ids": ids, "dtype": FLOAT},
            {"in_ids": _rows([], [2], [1]), "dtype": INT16},
        )
        canvases = _rows([60, 50], [50, 40], [70, 80])
        yield Case((mixed,), {"in_ids": ids, "output_size": canvases})
        yield Case((mixed,), {"output_size": (55, 44)})
        yield Case((mixed,), {"in_ids": ids, "output_size": _rows([60, 50, 3], [50, 40, 1], [70, 80, 0])})
        yield Case((mixed,), {"output_size": (55, 44, 3)})
        yield Case((alike, samples.pictures(((10, 15),) * 3), alike), {"output_size": (20, 30)})
        for dtype in (np.int16, np.int32, np.float32):
            yield Case((samples.pictures(((20, 30),) * 3, dtype=dtype),), {"in_ids": ids, "dtype": UINT8})
        single = [samples.picture(9, 8, channels, seed=channels) for channels in (1, 2, 3)]
        yield Case(((single, "HWC"),), {"in_ids": _rows([2], [0], [0, 0]), "output_size": (12, 12)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        alike = samples.pictures(((20, 30),) * 3)
        ids = _rows([0, 1], [2], [1, 1])
        anchors = _rows([[0, 0], [2, 3]], [[1, 1]], [[0, 0], [5, 5]])
        yield ErrorCase((alike,), {"in_ids": _rows([0, 7], [2], [1])}, words=("in_ids", "7", "sample 0"))
        yield ErrorCase(
            (alike,), {"in_ids": ids, "out_anchors": anchors}, words=("sample 0", "within output bounds", "20 x 30")
        )
        shares = _rows([[0, 0.2], [0, 0]], [[0, 0]], [[0, 1.2], [0, 0]], dtype=np.float32)
        yield ErrorCase((alike,), {"in_ids": ids, "shapes_rel": shares}, words=("shapes_rel", "[0, 1]", "sample 2"))
        yield ErrorCase(
            (alike,),
            {"in_ids": ids, "shapes": _rows([[9, 9], [21, 1]], [[1, 1]], [[1, 1]] * 2)},
            words=("sample 0", "within input sample", "21 x 1"),
        )
        yield ErrorCase(
            (alike,), {"in_ids": ids, "in_anchors": _rows([[0, 0]], [[1, 1]], [[0, 0]])}, words=("in_anchors",)
        )
        yield ErrorCase((samples.pictures(),), {"in_ids": ids}, words=("output_size", "must be given"))
        yield ErrorCase((alike, alike), {"in_ids": (0,)}, words=("in_ids", "one input"))
        yield ErrorCase((alike,), {"in_ids": (0,), "dtype": FLOAT16}, words=("dtype", "FLOAT16"))


def _sources(every: Batch, owners: Table, image_of: Table, count: int) -> tuple[str, ...] | None:
    """The origins of all images of each result, with semicolons between."""
    if every.sources is None:
        return None
    names: list[list[str]] = [[] for _ in range(count)]
    for owner, image in zip(owners.tolist(), image_of.tolist(), strict=True):
        if every.sources[image]:
            names[owner].append(every.sources[image])
    return tuple(";".join(row) for row in names)


def _rows(*values: object, dtype: npt.DTypeLike = np.int32) -> PerSample:
    return PerSample([np.array(value, dtype) for value in values])
