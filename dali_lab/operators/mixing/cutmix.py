"""Pastes a window of one image of a batch into another, and mixes their labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.mixing.partners import ALPHA, IMAGES, LABELS, MIXED, Mixing, need_one_shape, picture_shapes
from dali_lab.schema import Call, Case, ErrorCase, register, samples


@register
class Cutmix(Mixing):
    """Replaces a window of each image by that of another one of its batch (`arXiv:1905.04899`).

    The window has the proportions of the image and the area ``1 − share``, where the share is drawn from
    ``Beta(alpha, alpha)``; its middle is anywhere in the image, and what would lie outside is cut off. Labels are mixed
    by the areas that are left.
    """

    name = "mixing.cutmix"
    title = "CutMix"
    inputs = (IMAGES, LABELS)
    outputs = MIXED
    arguments = (ALPHA,)
    example = ">>> images, labels = fn.mixing.cutmix(images, fn.one_hot(labels, num_classes=10), alpha=1.0)"

    def run(self, call: Call, images: Batch, labels: Batch | None = None) -> Batch | tuple[Batch, Batch]:
        from dali_lab.kernels.cpu import mixing
        from dali_lab.kernels.cpu.copy import copy
        from dali_lab.kernels.cpu.memory import like

        need_one_shape(call, images)
        shapes = picture_shapes(call, images)
        partners = self.partners(call)
        sizes = shapes[:, 1:3]
        extent = np.sqrt(1 - self.shares(call).astype(np.float64))[:, None] * sizes
        centre = self.uniform(call, 2) * sizes
        low = np.clip(np.floor(centre - extent / 2 + 0.5), 0, sizes).astype(np.int64)
        high = np.clip(np.floor(centre + extent / 2 + 0.5), 0, sizes).astype(np.int64)
        out = call.allocate(images.shapes, images.dtype, images.layout)
        copy(images.addresses, out.addresses, images.sizes, images.itemsize)
        places = np.concatenate([low, low, high - low], axis=1)
        mixing.paste(images.addresses[partners], shapes, out.addresses, shapes, places, like(np.uint8))
        if labels is None:
            return out
        area = np.maximum(sizes.prod(axis=1), 1)
        left = (1 - (high - low).prod(axis=1) / area).astype(np.float32)
        return out, self.mixed_labels(call, labels, partners, left)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(((12, 15),) * 3), [np.eye(4, dtype=np.float32)[i] for i in range(3)]), {})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        alike = samples.pictures(((12, 15),) * 3)
        yield ErrorCase((samples.pictures(),), words=("one shape", "resize", "sample 1"))
        yield ErrorCase((alike, [np.zeros((2, 2), np.float32)] * 3), words=("labels", "2 dimensions"))
