"""Operators on colours."""
