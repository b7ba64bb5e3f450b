"""Operators that mix the samples of a batch."""
