"""Pipelines on Ray: blocks of batches as read tasks of Ray Data, graphs as its stages, iterators for Ray Train."""
