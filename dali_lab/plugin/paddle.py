"""Pipelines in PaddlePaddle: iterators of tensors; needs paddle."""

from dali_lab.model.extras import importing

with importing("paddle", "paddlepaddle"):
    from dali_lab.interop.iteration import LastBatchPolicy
    from dali_lab.interop.paddle.iterators import DALIClassificationIterator, DALIGenericIterator
    from dali_lab.interop.paddle.tensors import (
        dtype_map,
        feed_ndarray,
        lod_tensor_clip,
        recursive_length,
        to_paddle_type,
    )

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "LastBatchPolicy",
    "dtype_map",
    "feed_ndarray",
    "lod_tensor_clip",
    "recursive_length",
    "to_paddle_type",
]
