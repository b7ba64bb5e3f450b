"""Graphs as pictures: Graphviz, SVG and PNG."""
