"""Mirrors bounding boxes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, PerSample, flag, integer, register, samples


@register
class BbFlip(Operator):
    """Mirrors bounding boxes within a picture, whose sides are at 0 and 1."""

    name = "bb_flip"
    title = "Flip boxes"
    inputs = (
        Input(
            "boxes",
            kind="boxes",
            doc="Boxes ``[N, 4]`` of {types}, from 0 to 1: left, top, width, height.",
            dtypes=(dtypes.FLOAT,),
        ),
    )
    outputs = (Output("boxes", kind="boxes", doc="The flipped boxes, ``(N, 4)`` or flat as they came."),)
    on_gpu = True
    arguments = (
        integer("horizontal", 1, "Mirror left and right.", tensor=True, widget="switch", important=True),
        integer("vertical", 0, "Mirror top and bottom.", tensor=True, widget="switch", important=True),
        flag("ltrb", "Boxes are left, top, right, bottom instead of left, top, width, height."),
    )
    example = """
    >>> mirrored = fn.random.coin_flip()
    >>> images = fn.flip(images, horizontal=mirrored)
    >>> boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirrored)
    """

    def run(self, call: Call, boxes: Batch) -> Batch:
        if (
            not boxes.ndim
            or not (boxes.shapes[:, -1] % 4 == 0).all()
            or (boxes.ndim > 1 and not (boxes.shapes[:, -1] == 4).all())
        ):
            sample = tuple(boxes.shapes[0].tolist())
            raise call.problem(f"takes boxes of 4 numbers, [N, 4], got shape {sample}")
        out = call.allocate(boxes.shapes, boxes.dtype, boxes.layout)
        if call.gpu is not None:
            flips = (call.numbers(name, np.int64) != 0 for name in ("horizontal", "vertical"))
            counts = boxes.sizes // 4
            call.kernels("boxes").flip_boxes(boxes.addresses, out.addresses, counts, *flips, not self.value("ltrb"))
            return out
        source = flat(gathered(boxes)).reshape(-1, 4)
        target = flat(out).reshape(-1, 4)
        np.copyto(target, source)
        counts = boxes.sizes // 4
        by_size = not self.value("ltrb")
        if by_size:
            # NVIDIA DALI works on the far corner, so that sizes are rounded even where nothing is mirrored.
            target[:, 2:] += target[:, :2]
        one = np.float32(1)
        for name, low, high in (("horizontal", 0, 2), ("vertical", 1, 3)):
            flags = np.repeat(call.numbers(name, np.int64) != 0, counts)
            mirrored = one - target[:, high]
            np.copyto(target[:, high], one - target[:, low], where=flags)
            np.copyto(target[:, low], mirrored, where=flags)
        if by_size:
            target[:, 2:] -= target[:, :2]
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        boxes = [
            np.array([[0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]], np.float32),
            np.array([[0.5, 0.5, 0.25, 0.25]], np.float32),
        ]
        boxes.append(np.zeros((0, 4), np.float32))
        more = samples.tensors([(20, 4), (1, 4), (3, 4)])
        for arguments in (
            {},
            {"ltrb": True},
            {"horizontal": 0},
            {"vertical": 1},
            {"ltrb": True, "vertical": 1, "horizontal": 0},
            {"horizontal": 2},
            {"horizontal": PerSample.of(0, 1, 1, dtype=np.int32), "vertical": 1},
        ):
            yield Case((boxes,), arguments)
            yield Case((more,), arguments)
        yield Case((samples.tensors([(4,), (8,), (4,)]),))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.tensors([(2, 3)] * 3),), {}, ("4 numbers", "(2, 3)"))
