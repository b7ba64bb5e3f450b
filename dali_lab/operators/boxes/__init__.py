"""Operators on boxes, masks and points."""
