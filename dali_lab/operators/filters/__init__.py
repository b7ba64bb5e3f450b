"""Blurs and other filters."""
