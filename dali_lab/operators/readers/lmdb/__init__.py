"""Readers of LMDB files."""
