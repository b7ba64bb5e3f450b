"""Tensors that were placed on a GPU where there is none: they answer like those of the CPU."""

from __future__ import annotations

import warnings

import numpy as np

from dali_lab import Pipeline, fn
from dali_lab.tensors import TensorGPU, TensorListGPU


def test_a_batch_placed_on_the_gpu_is_read_on_the_cpu() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    pipeline = Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=lambda: values).gpu())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        (result,) = pipeline.run()
    assert isinstance(result, TensorListGPU)
    assert isinstance(result[0], TensorGPU)
    np.testing.assert_array_equal(result.as_cpu().as_array(), values)
    assert not hasattr(result[0], "__cuda_array_interface__")
