"""Names that scripts ask for: of readers that were given none, of operators, and of ways to make a constant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.ops
import dali_lab.types

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401


def test_readers_without_a_name(tmp_path: Path) -> None:
    files = [tmp_path / f"{index}.npy" for index in range(5)]
    for path in files:
        np.save(path, np.arange(3))

    def describe(engine: Any) -> tuple[Any, Any, Any]:
        fn = engine.fn
        pipeline = engine.Pipeline(2, 1, None)
        with pipeline:
            data, label = fn.readers.file(files=[*map(str, files)])
            fewer, _ = fn.readers.file(files=[*map(str, files[:3])], shard_id=1, num_shards=2)
            named = fn.readers.numpy(files=[*map(str, files)], name="arrays")
            pipeline.set_outputs(
                data, label, fewer, fn.random.uniform(), named, fn.readers.numpy(files=[str(files[0])])
            )
        pipeline.build()
        return pipeline.reader_meta(), pipeline.epoch_size(), pipeline.reader_meta("__File_1")

    assert describe(dali_lab) == describe(dali)


def test_operators_by_device() -> None:
    assert {"readers__File", "Resize"} <= dali_lab.ops.cpu_ops()
    assert "Resize" in dali_lab.ops.gpu_ops() and "decoders__Image" in dali_lab.ops.mixed_ops()
    assert "readers__File" not in dali_lab.ops.gpu_ops()


def test_constant_nodes() -> None:
    def make(engine: Any) -> Any:
        pipeline = engine.Pipeline(2, 1, None)
        with pipeline:
            types = engine.types
            pipeline.set_outputs(
                types.ConstantNode(None, [1, 2, 3, 4], types.UINT8, [2, 2], "HW"),
                types.Constant(2049, dtype=types.FLOAT16, device="cpu"),
            )
        pipeline.build()
        return [(np.array(out.at(1)), out.layout(), out.dtype.name) for out in pipeline.run()]

    for (ours, *rest), (theirs, *others) in zip(make(dali_lab), make(dali), strict=True):
        assert np.array_equal(ours, theirs) and rest == others
