"""Pipelines in PaddlePaddle: iterators of tensors."""
