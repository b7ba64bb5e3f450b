"""Conversion of elements, under the name that the CPU has it by; see :mod:`dali_lab.kernels.cuda.casting`."""

from __future__ import annotations

from dali_lab.kernels.cuda.casting import cast

__all__ = ["cast"]
