"""Operators that passes put in place of several others; people never see them."""
