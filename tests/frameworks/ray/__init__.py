"""Pipelines on Ray, on clusters of several nodes that run on this machine."""
