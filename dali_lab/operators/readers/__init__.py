"""Operators that bring samples in."""
