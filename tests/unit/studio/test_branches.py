"""Previews of conditionals draw the numbers that training draws, in every batch, nested branches included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dali_lab import fn, pipeline_def, types
from dali_lab.gallery.samples import photographs
from dali_lab.pipeline import Pipeline
from dali_lab.studio.preview.evaluation import Evaluator

BATCH = 5


@pytest.fixture(scope="module")
def folder() -> Path:
    return photographs()


def augmented(folder: Path, seed: int) -> Pipeline:
    @pipeline_def(batch_size=BATCH, num_threads=2, seed=seed, enable_conditionals=True)
    def pipeline():  # type: ignore[no-untyped-def]
        encoded, _ = fn.readers.file(file_root=str(folder), random_shuffle=True, name="reader")
        image = fn.resize(fn.decoders.image(encoded), size=[24, 24])
        noisy = fn.random.coin_flip(probability=0.4, dtype=types.BOOL)
        strong = fn.random.coin_flip(probability=0.6, dtype=types.BOOL)
        if noisy:
            image = fn.noise.gaussian(image, stddev=20.0)
            if strong:
                image = fn.noise.salt_and_pepper(image, prob=0.2)
        else:
            image = fn.noise.shot(image, factor=10.0)
        return image

    return pipeline()


@pytest.mark.parametrize("seed", [3, 4])
def test_previews_of_conditionals_are_what_training_gets(folder: Path, seed: int) -> None:
    pipe = augmented(folder, seed)
    graph, output = pipe.graph, pipe.graph.outputs[0]
    pipe.build()
    trained = []
    for _ in range(6):
        (batch,) = pipe.run()
        trained.append([np.asarray(batch.at(row)) for row in range(BATCH)])
    evaluator = Evaluator(threads=2)
    try:
        # First a batch far ahead, with nothing counted yet; then back, and a part of a batch.
        for iteration, samples in ((5, BATCH), (2, BATCH), (4, 2), (0, 3), (3, BATCH)):
            found = evaluator.evaluate(graph, seed, iteration=iteration, samples=samples)
            shown = found.results[output.node].outputs[output.output]
            assert shown is not None
            for row in range(samples):
                np.testing.assert_array_equal(shown.array(row), trained[iteration][row], f"batch {iteration}, {row}")
    finally:
        evaluator.close()
        pipe.close()
