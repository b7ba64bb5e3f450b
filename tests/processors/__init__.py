"""Compares results on another processor with those here, to the bit: see ``aarch64.sh``."""
