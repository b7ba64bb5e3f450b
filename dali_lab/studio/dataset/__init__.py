"""The dataset of a reader: its samples with search, filters and thumbnails."""
