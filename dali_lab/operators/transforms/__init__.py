"""Operators of the family 'transforms'."""
