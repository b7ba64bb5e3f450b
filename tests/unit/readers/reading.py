"""Batches of readers in both engines, and whether they are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

Outputs = list[tuple[str, list[np.ndarray[Any, Any]]]]


def make(engine: Any, reader: str, arguments: dict[str, Any], batch_size: int = 4, checkpoint: Any = None) -> Any:
    """A pipeline of one reader, called ``Reader``, and where its samples come from.

    With a checkpoint, an empty one too, it can be saved.
    """
    saves = checkpoint is not None
    settings: dict[str, Any] = {"batch_size": batch_size, "num_threads": 2, "device_id": None, "seed": 5}

    @engine.pipeline_def(**settings, prefetch_queue_depth=1, enable_checkpointing=saves)
    def define() -> Any:
        call = engine.fn
        for name in reader.split("."):
            call = getattr(call, name)
        results = call(name="Reader", **arguments)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        return (*results, engine.fn.get_property(results[0], key="source_info"))

    pipeline = define(checkpoint=checkpoint or None) if saves else define()
    pipeline.build()
    return pipeline


def take(pipeline: Any, batches: int) -> list[Outputs]:
    """Contents of the next batches, with the layout of each output."""
    taken = []
    for _ in range(batches):
        outputs = pipeline.run()
        taken.append([(out.layout(), [np.array(out.at(i)) for i in range(len(out))]) for out in outputs])
    return taken


def assert_same(ours: list[Outputs], theirs: list[Outputs], tolerance: float = 0) -> None:
    """Every sample has the same type, shape and elements."""
    assert len(ours) == len(theirs)
    for mine, others in zip(ours, theirs, strict=True):
        for (layout, samples), (their_layout, their_samples) in zip(mine, others, strict=True):
            assert layout == their_layout
            for sample, other in zip(samples, their_samples, strict=True):
                assert (sample.dtype, sample.shape) == (other.dtype, other.shape)
                if tolerance:
                    assert np.abs(sample.astype(np.float64) - other).max(initial=0) <= tolerance
                else:
                    np.testing.assert_array_equal(sample, other)
