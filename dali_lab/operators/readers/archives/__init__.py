"""Readers of tar archives."""
