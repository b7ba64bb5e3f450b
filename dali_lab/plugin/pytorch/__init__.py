"""Pipelines in PyTorch: iterators, functions on tensors, the proxy for ``DataLoader`` (:mod:`experimental.proxy`)."""

from dali_lab.model.extras import importing

with importing("torch", "'dali-lab[torch]'"):
    from dali_lab.interop.iteration import LastBatchPolicy
    from dali_lab.interop.pytorch.functions import TorchPythonFunction
    from dali_lab.interop.pytorch.iterators import DALIClassificationIterator, DALIGenericIterator, DALIRaggedIterator
    from dali_lab.interop.pytorch.tensors import feed_ndarray, to_torch_tensor, to_torch_type
    from dali_lab.plugin.pytorch import experimental, fn, loader_evaluator

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "experimental",
    "feed_ndarray",
    "fn",
    "loader_evaluator",
    "to_torch_tensor",
    "to_torch_type",
]
