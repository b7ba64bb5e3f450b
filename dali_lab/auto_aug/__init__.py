"""Automatic augmentation: AutoAugment, RandAugment and TrivialAugment, with NVIDIA DALI's modules and functions.

They choose for each sample what is done to it, so pipelines that use them are defined with
``@pipeline_def(enable_conditionals=True)``. With the same seed they choose what NVIDIA DALI chooses.
"""
