"""Times a ``DataLoader`` beside one whose batches are in memory."""

from dali_lab.interop.pytorch.loader_evaluator import LoaderEvaluator

__all__ = ["LoaderEvaluator"]
