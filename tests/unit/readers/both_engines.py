"""Runs readers alike in this package and in NVIDIA DALI."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn  # noqa: F401
import pytest

import dali_lab
from dali_lab.formats import dumps, loads


def pipeline_of(engine: Any, reader: str, batch_size: int, settings: dict[str, Any], **arguments: Any) -> Any:
    """A pipeline that gives what a reader reads."""
    found = engine.fn
    for part in reader.split("."):
        found = getattr(found, part)
    pipeline = engine.Pipeline(batch_size, 2, None, **{"seed": 5, **settings})
    with pipeline, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = found(name="Reader", **arguments)
        pipeline.set_outputs(*(outputs if isinstance(outputs, list | tuple) else [outputs]))
    pipeline.build()
    return pipeline


def taken(pipeline: Any, named: bool = True) -> list[Any]:
    """Elements, shapes, types, layouts and, if `named`, names of the samples in the next batch."""
    rows = []
    for batch in pipeline.run():
        for index in range(len(batch)):
            array = np.array(batch.at(index))
            name = batch[index].source_info() if named else ""
            rows.append((array.tobytes(), array.shape, array.dtype.str, batch.layout(), name))
    return rows


def read(engine: Any, reader: str, batch_size: int, batches: int, **arguments: Any) -> list[Any]:
    """The reader's metadata, followed by the contents of some batches."""
    pipeline = pipeline_of(engine, reader, batch_size, {}, **arguments)
    return [pipeline.reader_meta("Reader"), *(taken(pipeline) for _ in range(batches))]


def agree(reader: str, batch_size: int = 4, batches: int = 3, **arguments: Any) -> None:
    """Assert that both read the same."""
    assert read(dali_lab, reader, batch_size, batches, **arguments) == read(
        dali, reader, batch_size, batches, **arguments
    )


def refused(reader: str, words: tuple[str, ...], **arguments: Any) -> None:
    """Assert that reading raises an error with these words."""
    with pytest.raises(dali_lab.DaliLabError) as caught:
        read(dali_lab, reader, 2, 1, **arguments)
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} are not in: {caught.value}"


def goes_on_in_the_other(reader: str, named: bool = True, **arguments: Any) -> None:
    """Assert that either goes on from the other's checkpoints; samples have the same names only if `named`."""
    for first, second in ((dali_lab, dali), (dali, dali_lab)):
        for consumed in (0, 3, 7):
            settings = {"enable_checkpointing": True}
            whole = pipeline_of(first, reader, 4, settings, **arguments)
            for _ in range(consumed):
                whole.run()
            again = pipeline_of(second, reader, 4, {**settings, "checkpoint": whole.checkpoint()}, **arguments)
            for _ in range(6):
                assert taken(again, named) == taken(whole, named)


def travels(reader: str, named: bool = True, **arguments: Any) -> None:
    """Assert that each reads the serialized pipelines of the other, and that all forms of graphs keep the reader."""
    for package, other in ((dali_lab, dali), (dali, dali_lab)):
        pipeline = pipeline_of(package, reader, 4, {}, **arguments)
        again = other.Pipeline.deserialize(pipeline.serialize())
        again.build()
        assert [taken(pipeline, named) for _ in range(3)] == [taken(again, named) for _ in range(3)]
    graph = pipeline_of(dali_lab, reader, 4, {}, **arguments).graph
    for form in ("json", "python", "nvidia-python", "dali-serialized"):
        assert loads(dumps(graph, form)) == graph, form
