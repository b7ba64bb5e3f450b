"""Pipelines in PyTorch: iterators, functions on tensors, the proxy for ``DataLoader`` (:mod:`experimental.proxy`)."""

from dali_lab.plugin.base_iterator import LastBatchPolicy
from dali_lab.plugin.pytorch import experimental, fn
from dali_lab.plugin.pytorch.functions import TorchPythonFunction
from dali_lab.plugin.pytorch.iterators import DALIClassificationIterator, DALIGenericIterator, DALIRaggedIterator
from dali_lab.plugin.pytorch.torch_utils import feed_ndarray, to_torch_tensor, to_torch_type

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "experimental",
    "feed_ndarray",
    "fn",
    "to_torch_tensor",
    "to_torch_type",
]
