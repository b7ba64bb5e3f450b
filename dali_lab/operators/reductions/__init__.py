"""Operators of the family 'reductions'."""
