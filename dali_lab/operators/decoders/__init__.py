"""Operators that turn encoded bytes into samples."""
