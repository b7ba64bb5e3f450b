"""Tensors and lists of tensors, under NVIDIA DALI's names."""

from dali_lab.model.tensor_list import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = ["TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"]
