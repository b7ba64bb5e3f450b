"""Ways to use operators that may still change, under NVIDIA DALI's names."""
