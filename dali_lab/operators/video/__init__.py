"""Operators on the frames of sequences."""
