"""Results that never change between epochs, kept in memory or in a folder: what the pipeline's `cache` does."""
