"""Operators that conditionals put into a graph: nobody calls them by hand."""
