"""Run by ``test_sanitized.py`` in a process with AddressSanitizer: a few cases of operators that run on a GPU.

The cases are the operator's smallest ones, and for those that take pictures pictures of one pixel and of odd sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import imagecodecs
import numpy as np

from dali_lab.errors import DaliLabError
from dali_lab.schema import Case, samples
from tests.conformance.harness import compare, declared
from tests.gpu.cases import operators, place, run

PICTURES = samples.pictures(((1, 1), (1, 7), (5, 3)))
MORE: dict[str, tuple[dict[str, object], ...]] = {
    "resize": ({"size": (9, 13)}, {"size": (1, 1)}),
    "resize_crop_mirror": ({"size": (9, 13), "crop": (5, 7), "mirror": 1},),
    "rotate": ({"angle": 33.0}, {"angle": 33.0, "fill_value": 0.0}),
    "crop_mirror_normalize": ({"crop": (3, 5), "out_of_bounds_policy": "pad", "mirror": 1},),
    "crop": ({"crop": (9, 13), "out_of_bounds_policy": "pad"},),
    "gaussian_blur": ({"window_size": 5},),
    "flip": ({"vertical": 1},),
    "clahe": (
        {"tiles_x": 3, "tiles_y": 2, "clip_limit": 2.0},
        {"tiles_x": 9, "tiles_y": 9, "clip_limit": 0.0},
        {"tiles_x": 1, "tiles_y": 1, "clip_limit": 1e30},
    ),
    "jpeg_compression_distortion": ({"quality": 9},),
    "experimental.warp_perspective": ({"matrix": (1.0, 0.2, -3.0, 0.1, 0.9, 2.0, 0.01, 0.02, 1.0), "size": (5, 7)},),
}

OTHERS = (
    "cast", "slice", "pad", "transpose", "brightness_contrast", "hsv", "warp_affine", "erase", "filter",
    "reductions.sum", "normalize", "spectrogram",
)  # fmt: skip
"""One operator or two of each family of kernels: compiling for the sanitizers is what takes time."""


def cases(name: str) -> Iterator[Case]:
    """The cases of an operator to run."""

    def size(case: Case) -> int:
        arrays = [array for item in case.inputs for array in (item[0] if isinstance(item, tuple) else item)]
        return sum(np.size(array) for array in arrays)

    yield min(declared(name), key=size)
    for arguments in MORE.get(name, ()):
        yield Case((PICTURES,), arguments)


def unpack_damaged() -> None:
    """LZ4 that is cut off or altered, each piece in memory of its own."""
    rng = np.random.default_rng(7)
    whole = np.frombuffer(imagecodecs.lz4_encode(bytes(range(50)) * 8), np.uint8)
    damaged = [whole[:size].copy() for size in (1, 2, 3, 20, len(whole) - 1)]
    damaged += [np.where(rng.random(len(whole)) < 0.1, rng.integers(0, 256), whole).astype(np.uint8) for _ in range(50)]
    for shape in (400, 399, 17):
        run("decoders.inflate", Case((damaged,), {"shape": (shape,)}, batch_size=len(damaged)), "emulated", "gpu")


def main() -> int:
    """Print each case before it runs, so that a report of the sanitizer is known by the line before it."""
    failed = []
    for name, operator in operators().items():
        if name not in MORE and name not in OTHERS:
            continue
        for case in cases(name):
            print(name, list(case.arguments), flush=True)  # noqa: T201
            try:
                compare(run(name, case, "emulated", place(name)), run(name, case, "never", "cpu"), tolerant(operator))
            except (AssertionError, DaliLabError) as error:
                failed.append(f"{name}: {error}")
    print("decoders.inflate", flush=True)  # noqa: T201
    unpack_damaged()
    print(*failed, sep="\n", file=sys.stderr)  # noqa: T201
    return len(failed)


def tolerant(operator: type) -> Case:
    """The operator's tolerance between devices."""
    return Case(tolerance=operator.gpu_tolerance[0], fraction=operator.gpu_share)  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
