"""Features of TFRecord files, under NVIDIA DALI's module name."""

from dali_lab.model.features import Feature, FixedLenFeature, VarLenFeature, float32, int64, string

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]
