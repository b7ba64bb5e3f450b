"""Applies linear transforms to points, vectors or colours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, OneOf, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import numbers

Array = npt.NDArray[np.float32]


@register
class CoordTransform(Operator):
    """Applies a linear transform to points: ``out = M in + T``, along the last axis.

    Points of n coordinates become points of m where the matrix has m rows. It serves point clouds as well as colours.
    Samples without points have m coordinates too, but 0 where the whole batch has no point. Where an argument has a
    value for each frame, points without frames are transformed by each of them, into a sequence.
    """

    name = "coord_transform"
    repeatable = False  # a rare result depends on the other samples of the batch
    moves_points = True
    title = "Transform points"
    inputs = (Input("points", kind="tensor", doc="Points or vectors; the last axis holds their coordinates."),)
    outputs = (
        Output(
            "points",
            kind="tensor",
            doc="The points, of `dtype`; the last axis has as many coordinates as the matrix has rows.",
        ),
    )
    on_gpu = True
    arguments = (
        numbers(
            "M",
            None,
            "The matrix, row by row; a single number stands for a multiple of the identity.",
            arrays_are_nodes=True,
            per_frame=True,
            important=True,
        ),
        numbers(
            "T",
            None,
            "What is added; a single number counts for all coordinates.",
            arrays_are_nodes=True,
            per_frame=True,
            important=True,
        ),
        numbers(
            "MT",
            None,
            "Matrix and offset side by side, ``[M T]``; excludes `M` and `T`.",
            arrays_are_nodes=True,
            per_frame=True,
        ),
        Arg("dtype", "dtype", dtypes.FLOAT, "Type of the output; values are rounded and kept within its range."),
    )
    rules = (
        OneOf(
            "M T",
            "MT",
            refused_as="The combined ``MT`` argument cannot be used together with separate ``M``, ``T`` arguments",
        ),
    )
    differs = "Any type may be asked for, and points may have any number of coordinates."
    example = """
    >>> turn = fn.transforms.rotation(angle=30, center=[0.5, 0.5])
    >>> fn.coord_transform(landmarks, MT=turn)
    """

    def run(self, call: Call, points: Batch) -> Batch:
        frames = None
        whole = call.count
        per_frame = [batch.shapes[:, 0] for batch in call.batches.values() if batch.layout.startswith("F")]
        if per_frame and points.layout.startswith("F"):
            frames = points.shapes[:, 0].copy()
            points = points.unfolded()
        elif points.ndim < 2:
            raise call.problem(f"takes at least 2 dimensions, got {points.ndim}")
        elif per_frame:
            # The same points for each frame of the arguments.
            frames = np.max(per_frame, axis=0)
            points = points.take(np.repeat(np.arange(whole), frames))
        if frames is not None:
            call.repeat, call.count = frames, len(points)
        out = self._transformed(call, points)
        if frames is not None:
            call.repeat, call.count = None, whole
            out = out.folded(frames, "F")
        return out

    def _transformed(self, call: Call, points: Batch) -> Batch:
        width = self._width(call, points)
        if width is None:  # no point in the whole batch
            return call.allocate(_with_last(points.shapes, 0), self.value("dtype"), points.layout)
        matrix, offset = self._terms(call, width)
        out = call.allocate(_with_last(points.shapes, matrix.shape[1]), self.value("dtype"), points.layout)
        if not int(out.sizes.sum()):
            return out
        counts = points.shapes[:, :-1].prod(axis=1)
        if call.gpu is not None:
            kinds = points.kind, out.kind
            kernels = call.kernels("boxes")
            kernels.transform_points(points.addresses, out.addresses, counts, matrix, offset, *kinds)
            return out
        from dali_lab.kernels.cpu import boxes
        from dali_lab.kernels.cpu.casting import saturate_into

        source = flat(gathered(points)).astype(np.float32, copy=False)
        target = flat(out)
        plain = target if target.dtype == np.float32 else np.empty(target.size, np.float32)
        boxes.transform_points(
            source, counts, np.ascontiguousarray(matrix, np.float32), np.ascontiguousarray(offset, np.float32), plain
        )
        if plain is not target:
            saturate_into(target, plain)
        return out

    @staticmethod
    def _width(call: Call, points: Batch) -> int | None:
        """The number of coordinates of the batch's points; samples without points do not count."""
        filled = points.sizes > 0
        widths = call.note(int(points.shapes[filled.argmax(), -1]) if filled.any() else None)
        if len(points) and not filled.any():
            widths += call.gathered()
        width: int | None = next((known for known in widths if known is not None), None)
        if width is None:
            return None
        wrong = (points.shapes[:, -1] != width) & (points.shapes[:, :-1] > 0).all(axis=1)
        call.refuse(wrong, "points of {} coordinates beside points of {}", points.shapes[:, -1], width)
        return width

    def _terms(self, call: Call, width: int) -> tuple[Array, Array]:
        """Matrices ``[N or 1, m, width]`` and offsets ``[N or 1, m]``."""
        if self.has("MT"):
            both = self._matrix(call, "MT", width, width + 1)
            return both[:, :, :width], both[:, :, width]
        matrix = self._matrix(call, "M", width, width) if self.has("M") else np.eye(width, dtype=np.float32)[None]
        rows = matrix.shape[1]
        if not self.has("T"):
            return matrix, np.zeros((1, rows), np.float32)
        length = self._length(call, "T")
        if length not in (1, rows):
            raise call.problem(f"takes 1 or {rows} values, got {length}", argument="T")
        return matrix, self._rows(call, "T", rows)

    def _matrix(self, call: Call, name: str, width: int, columns: int) -> Array:
        length = self._length(call, name)
        if length == 1 and not (name == "M" and columns == 1):
            number = self._rows(call, name, 1)[:, 0]
            result = np.zeros((len(number), width, columns), np.float32)
            result[:, :, :width] = number[:, None, None] * np.eye(width, dtype=np.float32)
            return result
        batch = call.batches.get(name)
        if batch is not None and batch.ndim != (3 if self._per_frame(call, batch) else 2):
            raise call.problem(
                f"must be a matrix or a number in each sample, got {batch.ndim} dimensions", argument=name
            )
        if not columns or not length or length % columns:
            raise call.problem(f"Cannot form a matrix with {length} elements and {columns} columns", argument=name)
        if batch is not None and len(batch) and batch.shapes[0, -1] != columns:
            raise call.problem(f"has {batch.shapes[0, -1]} columns, the points need {columns}", argument=name)
        return self._rows(call, name, length).reshape(-1, length // columns, columns)

    @staticmethod
    def _per_frame(call: Call, batch: Batch) -> bool:
        return call.repeat is not None and batch.layout.startswith("F")

    def _length(self, call: Call, name: str) -> int:
        batch = call.batches.get(name)
        if batch is None:
            return int(np.size(self.values[name]))
        if not len(batch):
            return 1
        extents = batch.shapes[0, 1:] if self._per_frame(call, batch) else batch.shapes[0]
        return int(extents.prod())

    def _rows(self, call: Call, name: str, length: int) -> Array:
        rows = call.vectors(name, length, np.float32)
        return rows if name in self.connected else rows[:1]

    @classmethod
    def cases(cls) -> Iterable[Case]:
        points = (samples.tensors([(5, 2), (1, 2), (7, 2)]), "XY")
        yield from Case.each(
            (points,),
            {},
            {"M": [1, 2, 3, 4]},
            {"M": 2},
            {"M": [1, 2, 3, 4, 5, 6]},
            {"M": [1, 2]},
            {"T": [1, 2]},
            {"T": 1},
            {"M": 2, "T": [1, 2]},
            {"M": [1, 2], "T": 5},
            {"M": [1, 2, 3, 4, 5, 6], "T": [1, 2, 3]},
            {"MT": [1, 2, 3, 4, 5, 6]},
            {"MT": 2},
            {"MT": [1, 2, 3]},
        )
        matrices = PerSample.of([[1, 2], [3, 4]], [[0, 1], [1, 0]], [[2, 0], [0, 2]])
        yield Case((points,), {"M": matrices})
        yield Case((points,), {"M": matrices, "T": PerSample.of([1, 2], [3, 4], [5, 6])})
        yield Case((points,), {"M": PerSample.of(1, 2, 3), "T": 1})
        yield Case((points,), {"MT": PerSample([np.ones((3, 3), np.float32) * i for i in range(3)])})
        colours = {"M": [0.3, 0.6, 0.1, -0.2, -0.3, 0.5, 0.5, -0.4, -0.1], "T": [0, 128, 128]}
        yield Case((samples.pictures(),), {**colours, "dtype": dtypes.UINT8})
        yield Case((samples.pictures(),), colours)
        yield Case((samples.pictures(dtype=np.float32),), {"M": [0.3, 0.6, 0.1]})
        yield Case((samples.tensors([(2, 3), (4, 3)], np.int32),), {"M": 0.5})
        yield Case((samples.tensors([(0, 2), (2, 2)]),), {"M": 3})
        for shapes in ([(0, 3), (3, 2)], [(3, 2), (0, 3)], [(0, 3), (0, 4)], [(2, 0), (3, 0)], [(0, 5, 2), (0, 2, 2)]):
            yield from Case.each(
                (samples.tensors(shapes),), {}, {"M": [1, 2, 3, 4, 5, 6]}, {"T": [1, 2]}, {"MT": [1, 2, 3, 4, 5, 6]}
            )
        frames = PerSample(
            [np.arange(count * 9, dtype=np.float32).reshape(count, 3, 3) / 99 for count in (2, 3, 1)], "Fij"
        )
        yield Case((samples.sequences(dtype=np.float32),), {"M": frames})
        shift = PerSample([np.arange(count * 3, dtype=np.float32).reshape(-1, 3) for count in (2, 3, 1)], "F*")
        for layout in ("AB", ""):
            yield Case(((samples.tensors([(5, 3), (0, 3), (7, 3)]), layout),), {"M": frames, "T": shift})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        points = (samples.tensors([(5, 2), (1, 2), (7, 2)]), "XY")
        yield ErrorCase((points,), {"M": [1, 2, 3]}, ("M", "3 elements"))
        yield ErrorCase((points,), {"MT": [1, 2, 3, 4]}, ("MT", "4 elements"))
        yield ErrorCase((points,), {"M": [1, 2], "T": [5, 6]}, ("T", "2"))
        yield ErrorCase((points,), {"M": 2, "MT": [1, 2, 3]}, ("MT", "'M'"))
        yield ErrorCase((points,), {"M": PerSample([np.ones(4, np.float32)] * 3)}, ("M", "1 dimensions"))
        yield ErrorCase((points,), {"M": PerSample([np.ones((2, 3), np.float32)] * 3)}, ("M", "columns"))
        yield ErrorCase((samples.tensors([(5,)] * 3),), {"M": 2}, ("2 dimensions",))
        yield ErrorCase((samples.tensors([(5, 2), (5, 3)]),), {}, ("of 2", "of 3"))
        yield ErrorCase((samples.tensors([(5, 2), (5, 0)]),), {}, ("of 2", "of 0"))


def _with_last(shapes: npt.NDArray[np.int64], extent: int) -> npt.NDArray[np.int64]:
    result = shapes.copy()
    result[:, -1] = extent
    return result
