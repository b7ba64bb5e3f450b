"""Runs NVIDIA DALI's own Python tests in NVIDIA DALI and in DALI Lab: ``python -m tests.nvidia --help``."""
