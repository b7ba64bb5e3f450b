"""Long runs of the readers over damaged files."""
