"""Marks data that are the same in every epoch, to be computed once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.schema import Call, Case, Input, Operator, Output, register, samples


@register
class Cache(Operator):
    """Keeps what comes in, so that it is computed once, where the pipeline has a cache; else passes it on.

    Nothing before it may draw random numbers or depend on anything but files and constants. The pipeline says where
    results are kept: ``Pipeline(cache="memory")`` or a folder.
    """

    name = "cache"
    inputs = (Input("data", kind="any", doc="Any tensors on the CPU that are the same in every epoch."),)
    outputs = (Output("output", doc="The samples of the input."),)
    keeps = True
    beyond_dali = True
    example = """
    >>> images = fn.cache(fn.resize(fn.decoders.image(encoded), resize_shorter=256))
    >>> images = fn.rotate(images, angle=fn.random.uniform(range=(-10.0, 10.0)))
    """

    def run(self, call: Call, data: Batch) -> Batch:
        return data.replaced()

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.sequences(),))
        yield Case((samples.tensors([(), (), ()], np.int16),))
