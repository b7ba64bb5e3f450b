"""Operators of the family 'tensor'."""
