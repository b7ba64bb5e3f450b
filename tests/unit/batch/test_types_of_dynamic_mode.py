"""Types of dynamic mode where the enumerated ones are taken: in pipelines, and by readers of dynamic mode."""

from __future__ import annotations

from pathlib import Path

import pytest

import dali_lab.experimental.dynamic as ndd
from dali_lab import Pipeline, fn, types
from tests.unit.readers.records import write_tar

NAMES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", NAMES)
def test_pipelines_take_them(name: str) -> None:
    kind = getattr(ndd, name)
    with Pipeline(1, 1, None) as pipeline:
        pipeline.set_outputs(fn.cast(fn.constant(idata=[3]), dtype=kind))
    assert pipeline.run()[0].dtype == kind.type_id
    pipeline.close()


def test_the_type_without_tensors_is_refused() -> None:
    with Pipeline(1, 1, None), pytest.raises(TypeError, match="takes a DALIDataType"):
        fn.cast(fn.constant(idata=[3]), dtype=ndd.bfloat16)


def test_readers_take_them_in_lists(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "t.tar", [("a.x", bytes(8)), ("a.y", bytes(8))])
    reader = ndd.readers.Webdataset(paths=path, ext=["x", "y"], dtypes=[ndd.uint8, types.INT16])
    x, y = next(iter(reader.next_epoch(batch_size=1)))
    assert [(batch.dtype, batch.shape) for batch in (x, y)] == [(ndd.uint8, [(8,)]), (ndd.int16, [(4,)])]
