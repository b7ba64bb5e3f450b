"""The loops that touch pixels and numbers, by device."""
