"""Benchmarks; kernels are compiled at once in them, so that warming up is all that compiling costs."""

import os

os.environ.setdefault("DALI_LAB_COMPILE", "at-once")
