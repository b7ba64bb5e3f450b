"""Datasets over pipelines whose external sources get other datasets."""

from dali_lab.interop.tensorflow.dataset import DALIDatasetWithInputs
from dali_lab.interop.tensorflow.inputs import Input

__all__ = ["DALIDatasetWithInputs", "Input"]
