"""Pipelines in PyTorch: iterators of tensors, and functions on tensors as operators."""
