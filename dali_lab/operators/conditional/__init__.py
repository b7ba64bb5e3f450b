"""Operators that conditionals put into a graph; they are not called by hand."""
