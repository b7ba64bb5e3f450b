"""The project's own graph file: JSON with a published schema."""
