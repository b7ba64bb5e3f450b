"""The evaluator, under NVIDIA DALI's module name."""

from dali_lab.interop.pytorch.loader_evaluator import LoaderEvaluator

__all__ = ["LoaderEvaluator"]
