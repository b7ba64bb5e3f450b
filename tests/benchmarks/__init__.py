"""Benchmarks; kernels are compiled at once in them, so that all compiling happens during warm-up."""

import os

os.environ.setdefault("DALI_LAB_COMPILE", "at-once")
