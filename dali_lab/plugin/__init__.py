"""Pipelines in other frameworks: each plugin is imported by name, and needs its framework only then."""
