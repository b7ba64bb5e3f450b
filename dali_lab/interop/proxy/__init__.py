"""DALI proxy: worker processes of a ``DataLoader`` send samples to one pipeline in the main process."""
