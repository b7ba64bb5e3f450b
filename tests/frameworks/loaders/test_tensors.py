"""PyTorch's tensors go in and out of pipelines without copying."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import dali_lab.experimental.dynamic as ndd
from dali_lab import Pipeline, fn
from dali_lab.plugin import pytorch
from dali_lab.schema import find_operator
from dali_lab.schema.samples import picture
from dali_lab.tensors import TensorListCPU
from tests.unit.batch.test_buffers import counting


def test_tensors_outlive_their_pipeline() -> None:
    pipeline = counting()
    tensors = [torch.from_dlpack(pipeline.run()[0].as_tensor()) for _ in range(3)]
    pipeline.close()
    del pipeline
    other = counting()
    for _ in range(10):
        other.run()
    other.close()
    for index, tensor in enumerate(tensors):
        assert bool((tensor == index).all())


def test_lists_are_taken_without_copying() -> None:
    tensors = TensorListCPU(np.arange(12, dtype=np.float32).reshape(2, 2, 3), layout="HW")
    taken = torch.from_dlpack(tensors.as_tensor())
    assert taken.data_ptr() == tensors.data_ptr()
    back = TensorListCPU.from_dlpack_list([torch.zeros(2, 3), torch.ones(1, 3)], layout="HW", contiguous=True)
    assert back.shape() == [(2, 3), (1, 3)]
    assert back.at(1).sum() == 3


def test_tensors_are_fed() -> None:
    pipeline = Pipeline(3, 2, None, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(fn.external_source(name="input"))
    pipeline.feed_input("input", torch.ones((2, 3)), layout="W")
    (out,) = pipeline.run()
    assert out.layout() == "W" and out.as_array().tolist() == [[1.0] * 3] * 2
    pipeline.feed_input("input", [torch.zeros(2), torch.ones(4)], layout="W")
    (out,) = pipeline.run()
    assert out.shape() == [(2,), (4,)]


def test_functions_on_tensors() -> None:
    pipeline = Pipeline(2, 2, None)
    with pipeline:
        numbers = fn.external_source(source=lambda i: np.full((2, 2, 3), i, np.uint8), layout="HW")
        doubled = pytorch.fn.torch_python_function(numbers, function=lambda t: t.to(torch.int32) * 2)
        stacked = pytorch.TorchPythonFunction(function=lambda t: torch.stack([t, t]), num_outputs=1)(numbers)
        pipeline.set_outputs(doubled, stacked)
    for value in range(2):
        one, two = pipeline.run()
        assert one.dtype.name == "INT32"
        for sample in range(2):
            assert one.at(sample).tolist() == [[2 * value] * 3] * 2
            assert two.at(sample).tolist() == [[[value] * 3] * 2] * 2


def test_the_example_runs() -> None:
    with Pipeline(2, 2, None) as pipeline:
        images = fn.external_source(source=lambda: [picture(9, 9)] * 2, layout="HWC")
        pipeline.set_outputs(eval(find_operator("torch_python_function").example[4:], {"fn": fn, "images": images}))
    assert np.array_equal(pipeline.run()[0].at(1), 255 - picture(9, 9))


def test_memory_is_shared_in_dynamic_mode() -> None:
    source = torch.arange(6, dtype=torch.int32)
    value = ndd.as_tensor(source)
    source[0] = 9
    assert np.asarray(value)[0] == 9
    assert ndd.tensor(source).torch()[0] == 9
    assert value.torch().data_ptr() == source.data_ptr()
    assert ndd.as_batch([source, source]).torch().shape == (2, 6)
    with pytest.raises(ValueError, match="a copy is needed"):
        ndd.as_batch([source, source[:2]]).torch(copy=False)


def test_an_argument_is_a_tensor_in_dynamic_mode() -> None:
    """As in NVIDIA DALI, which takes it for the number."""
    theirs = pytest.importorskip("nvidia.dali.experimental.dynamic")
    pixels = picture(30, 40)
    turned = [
        np.asarray(engine.rotate(engine.tensor(pixels, layout="HWC"), angle=torch.tensor(30)))
        for engine in (ndd, theirs)
    ]
    np.testing.assert_array_equal(*turned)
