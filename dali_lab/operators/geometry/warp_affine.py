"""Warps images and volumes by an affine map."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import rows_of
from dali_lab.model.dtypes import FLOAT, INT16, INTERP_NN
from dali_lab.operators.geometry.warping import IMAGES, SIZE, WARPING, Warping
from dali_lab.schema import Call, Case, ErrorCase, Input, PerSample, flag, numbers, register, samples


@register
class WarpAffine(Warping):
    """Warps images by an affine map, a matrix of two rows and three columns; volumes by one of three and four.

    With `inverse_map` the matrix takes positions of the result to positions of the source; without it, the other way.
    Positions are ``(x, y)`` in pixels, the centre of the first one at ``(0.5, 0.5)``; in volumes ``(x, y, z)``.
    """

    name = "warp_affine"
    inputs = (
        IMAGES,
        Input(
            "mtx",
            kind="tensor",
            device="either",
            doc="The matrix of each sample, in place of the argument.",
            optional=True,
        ),
    )
    arguments = (
        numbers("matrix", (), "The matrix, row by row.", per_frame=True, important=True),
        flag("inverse_map", "The matrix takes positions of the result to the source.", default=True),
        SIZE,
        *WARPING,
    )
    cpu_inputs = (1,)
    start = {"matrix": [1.0, 0.2, 0.0, 0.0, 1.0, 0.0], "fill_value": 0.0}
    example = ">>> fn.warp_affine(images, matrix=fn.transforms.rotation(angle=30, center=(112, 112)))"

    def run(self, call: Call, *inputs: Batch) -> Batch:
        from dali_lab.kernels.cpu import warp, warp_volume

        data = inputs[0]
        deep = "D" in data.layout
        matrices = self._matrices(call, inputs, 12 if deep else 6)
        call.refuse(~np.isfinite(matrices), "is not finite", argument="matrix")
        if not self.value("inverse_map"):
            if deep:
                matrices, exists = warp_volume.inverted(matrices)
            else:
                exists = np.abs(matrices[:, 0] * matrices[:, 4] - matrices[:, 1] * matrices[:, 3]) > 0
            call.refuse(~exists, "cannot be inverted", argument="matrix")
            if not deep:
                matrices = warp.inverted_affine(matrices)
        if deep:
            return self.warp_volumes(call, data, matrices, self.sizes(call, data.shapes[:, :3]))
        return self.warp(call, data, matrices, self.sizes(call, data.shapes[:, :2]))

    def _matrices(self, call: Call, inputs: tuple[Batch, ...], length: int) -> npt.NDArray[np.float32]:
        if len(inputs) > 1:
            rows = rows_of(inputs[1].stacked()).astype(np.float32)
        elif self.has("matrix") and ("matrix" in self.connected or self.values["matrix"]):
            rows = call.vectors("matrix", length)
        else:
            raise call.problem(
                "`matrix` argument must be provided when transforms are not passed as a regular input",
                argument="matrix",
            )
        if rows.shape[1] != length:
            raise call.problem(f"needs {length} numbers for each sample, got {rows.shape[1]}", argument="matrix")
        return np.ascontiguousarray(rows)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        shear = (1.0, 0.3, -2.0, 0.1, 0.9, 4.5)
        rows = [np.array(row, np.float32).reshape(2, 3) for row in (shear, (2, 0, 0, 0, 2, 0), (0, 1, 0, -1, 0, 20))]
        yield from Case.each(
            (pictures,),
            {"matrix": shear},
            {"matrix": shear, "fill_value": 0.0},
            {"matrix": shear, "inverse_map": False, "fill_value": 9.0},
            {"matrix": shear, "interp_type": INTERP_NN},
            {"matrix": shear, "size": (20, 60), "fill_value": 1.0},
            {"matrix": shear, "size": (20.5, 59.7), "fill_value": 1.0},
            {"matrix": PerSample(rows), "fill_value": 2.0},
            {"matrix": shear, "dtype": FLOAT},
        )
        yield Case((pictures, rows), {"fill_value": 3.0})
        frames = [np.stack(rows[:count]) for count in (2, 3, 1)], "F**"
        yield Case((pictures, frames), {"fill_value": 3.0}, name="still pictures, a matrix for each frame")
        yield Case((samples.pictures(dtype=np.float32),), {"matrix": shear})
        beyond = {"matrix": shear, "fill_value": 70000.0}
        yield Case((samples.pictures(dtype=np.float32),), {**beyond, "dtype": INT16})
        yield Case((samples.sequences(),), {"matrix": shear, "fill_value": 0.0})
        volumes = samples.volumes(channels=2)
        skew = (1.0, 0.2, 0.1, -1.5, 0.1, 0.9, -0.2, 0.7, 0.05, -0.1, 1.1, 0.3)
        wide = [np.array(skew, np.float32).reshape(3, 4) * np.float32(1 + 0.1 * k) for k in range(3)]
        yield from Case.each(
            (volumes,),
            {},
            {"fill_value": 7.0},
            {"inverse_map": False, "fill_value": 9.0},
            {"interp_type": INTERP_NN, "fill_value": 9.0},
            {"interp_type": INTERP_NN},
            {"size": (9, 8, 12)},
            common={"matrix": skew},
        )
        yield Case((volumes, wide), {"fill_value": 3.0, "dtype": FLOAT})
        yield Case((samples.volumes(dtype=np.float32),), {"matrix": PerSample(wide)})
        swapped = (0.1, 0.9, -0.2, 0.7, 1.0, 0.2, 0.1, -1.5, 0.05, -0.1, 1.1, 0.3)
        for matrix in (PerSample(wide), swapped):
            yield Case((samples.volumes(dtype=np.float32),), {"matrix": matrix, "inverse_map": False})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), words=("matrix", "must be provided"))
        yield ErrorCase((samples.pictures(),), {"matrix": (1.0, 2.0, 3.0)}, words=("matrix", "list of 6 elements"))
        yield ErrorCase((samples.volumes(),), {"matrix": (1.0,) * 6}, words=("matrix", "list of 12 elements"))
        frames = [np.zeros((3, 2, 3), np.float32)] * 3, "F**"
        yield ErrorCase((samples.sequences(), frames), words=("different number of frames", "sample 0", "2 and 3"))
        yield ErrorCase(
            (samples.volumes(),), {"matrix": (0.0,) * 12, "inverse_map": False}, words=("matrix", "inverted")
        )
        yield ErrorCase((samples.pictures(),), {"matrix": (float("nan"), 0, 0, 0, 1, 0)}, words=("matrix", "finite"))
        yield ErrorCase(
            (samples.pictures(),), {"matrix": (0.0,) * 6, "inverse_map": False}, words=("matrix", "inverted")
        )
