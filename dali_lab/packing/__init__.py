"""Writes the dataset of a graph as it stands at a node into shards, with the graph that reads them."""

from dali_lab.packing.pack import Packing, Report, pack

__all__ = ["Packing", "Report", "pack"]
