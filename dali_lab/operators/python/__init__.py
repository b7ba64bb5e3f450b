"""Operators that call Python functions."""
