"""Operators of the family 'random'."""
