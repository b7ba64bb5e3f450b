"""Previews: a graph evaluated for one batch, its outputs as pictures, and their delivery to an editor."""
