"""Operators on sound and its spectra."""
