"""Operators of the family 'geometry'."""
