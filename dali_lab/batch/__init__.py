"""Batches: the ragged table that kernels see, and the lists of tensors that people see."""

from dali_lab.batch.batch import Batch
from dali_lab.batch.tensors import Tensor, TensorList

__all__ = ["Batch", "Tensor", "TensorList"]
