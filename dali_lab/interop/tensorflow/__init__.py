"""Pipelines in TensorFlow: a ``tf.data.Dataset`` over a pipeline, and operations that give its batches."""
