"""Memory of a batch is free as soon as the batch is: nothing that outlives a chunk leads to it."""

from __future__ import annotations

import gc

import numpy as np

from dali_lab import Pipeline, fn
from dali_lab.codecs.encoding import encode_jpeg
from dali_lab.executor.stage_run import Chunk
from dali_lab.schema.samples import picture
from tests.waiting import wait_until


def _chunks() -> int:
    return sum(isinstance(found, Chunk) for found in gc.get_objects())


def test_pictures_left_to_the_resize_keep_no_chunk() -> None:
    files = [np.frombuffer(encode_jpeg(picture(300, 400, seed=seed)), np.uint8) for seed in range(8)]
    gc.collect()
    before = _chunks()
    pipeline = Pipeline(8, 2, None, prefetch_queue_depth=1)
    with pipeline:
        images = fn.resize(fn.decoders.image(fn.external_source(source=lambda: files)), size=(96, 96))
        pipeline.set_outputs(fn.crop_mirror_normalize(images, mean=[1.0] * 3, std=[2.0] * 3))
    gc.disable()
    try:
        for _ in range(3 * len(files)):
            pipeline.run()
        # The batch that is ready has a chunk for each of its pictures at most: how many depends on the time they take.
        wait_until(lambda: _chunks() <= before + len(files), "chunks live on beside those of the batch that is ready")
    finally:
        gc.enable()
        pipeline.close()
