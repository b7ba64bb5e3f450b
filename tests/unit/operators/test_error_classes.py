"""Operators raise the classes of errors that programs for NVIDIA DALI catch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import dali_lab

dali = pytest.importorskip("nvidia.dali")


def _data(package: Any, layout: str = "", ndim: int = 3) -> Any:
    return package.fn.external_source(lambda: [np.zeros((9, 8, 3, 2)[:ndim], np.uint8)], layout=layout or None)


CALLS: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "an unknown layout": (ValueError, lambda package: package.fn.crop(_data(package, "ABC"), crop=(2, 2))),
    "too few dimensions": (ValueError, lambda package: package.fn.crop_mirror_normalize(_data(package, ndim=1))),
    "no such axis": (IndexError, lambda package: package.fn.reductions.sum(_data(package), axes=(7,))),
    "an axis twice": (ValueError, lambda package: package.fn.reductions.max(_data(package), axes=(1, 1))),
    "no axis to resize": (IndexError, lambda package: package.fn.tensor_resize(_data(package), sizes=5, axes=[4])),
    "an enum from a float": (
        RuntimeError,
        lambda package: package.fn.cast(package.fn.constant(fdata=[1.0]), dtype=package.types.DATA_TYPE),
    ),
}


@pytest.mark.parametrize("package", [dali, dali_lab], ids=["dali", "ours"])
@pytest.mark.parametrize("name", CALLS)
def test_classes_of_errors(package: Any, name: str) -> None:
    kind, define = CALLS[name]
    pipe = package.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(define(package))
    with pytest.raises(kind):
        pipe.run()


@pytest.mark.parametrize("name", ["batch_size", "num_threads", "seed"])
def test_numbers_of_numpy_describe_pipelines(name: str) -> None:
    pipe = dali_lab.Pipeline(**{"batch_size": 2, "num_threads": 1, "device_id": None, name: np.int64(3)})
    with pipe:
        pipe.set_outputs(dali_lab.fn.random.uniform(seed=1))
    assert len(pipe.run()[0]) == pipe.max_batch_size


@pytest.mark.parametrize("package", [dali, dali_lab], ids=["dali", "ours"])
def test_a_node_is_not_iterable(package: Any) -> None:
    pipe = package.Pipeline(1, 1, None)
    with pipe:
        node = package.fn.constant(idata=[1, 2])
        assert not isinstance(node, Iterable)
        with pytest.raises(TypeError):
            list(node)


@pytest.mark.parametrize("package", [dali, dali_lab], ids=["dali", "ours"])
def test_origins_of_pasted_files(package: Any, tmp_path: Path) -> None:
    names = []
    for number in range(3):
        names.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(np.full((4, 5, 3), number, np.uint8)).save(names[-1])
    pipe = package.Pipeline(3, 1, None)
    with pipe:
        pictures = package.fn.decoders.image(package.fn.readers.file(files=names)[0])
        ids = package.fn.external_source(lambda: [np.array(row, np.int32) for row in ([2, 1], [], [0])])
        pipe.set_outputs(package.fn.multi_paste(pictures, in_ids=ids))
    (batch,) = pipe.run()
    expected = [";".join(names[number] for number in row) for row in ([2, 1], [], [0])]
    assert [batch[index].source_info() for index in range(3)] == expected
