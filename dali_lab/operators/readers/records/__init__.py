"""Readers of record files: TFRecord and RecordIO."""
