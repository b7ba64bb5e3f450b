"""Blends images of a batch, and their labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import FLOAT, UINT8
from dali_lab.operators.mixing.partners import ALPHA, IMAGES, LABELS, MIXED, Mixing, need_one_shape
from dali_lab.schema import Call, Case, ErrorCase, register, samples


@register
class Mixup(Mixing):
    """Blends each image with another one of its batch, and their labels in the same shares (`arXiv:1710.09412`).

    The share of the image itself is drawn from ``Beta(alpha, alpha)``; whole numbers are rounded.
    """

    name = "mixing.mixup"
    inputs = (IMAGES, LABELS)
    outputs = MIXED
    arguments = (ALPHA,)
    example = ">>> images, labels = fn.mixing.mixup(images, fn.one_hot(labels, num_classes=10), alpha=0.2)"

    def run(self, call: Call, images: Batch, labels: Batch | None = None) -> Batch | tuple[Batch, Batch]:
        from dali_lab.kernels.cpu import mixing
        from dali_lab.kernels.cpu.memory import like

        need_one_shape(call, images)
        shares, partners = self.shares(call), self.partners(call)
        source = images if images.dtype == UINT8 else converted(images, FLOAT)
        direct = source.dtype == images.dtype
        out = (call.allocate if direct else Batch.allocate)(images.shapes, source.dtype, images.layout)
        mixing.blend(
            source.addresses, source.addresses[partners], out.addresses, images.sizes, shares,
            source.dtype == UINT8, like(source.kind),
        )  # fmt: skip
        if not direct:
            out = converted(out, images.dtype, call.allocate(images.shapes, images.dtype, images.layout))
        return out if labels is None else (out, self.mixed_labels(call, labels, partners, shares))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case(
            (samples.pictures(((12, 15),) * 3), [np.eye(4, dtype=np.float32)[i] for i in range(3)]), {"alpha": 0.4}
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        alike = samples.pictures(((12, 15),) * 3)
        yield ErrorCase((samples.pictures(),), words=("one shape", "resize", "sample 1"))
        yield ErrorCase((alike, [np.int32(1)] * 3), words=("labels", "INT32"))
