"""Fused operators, which passes put in place of several others; users never see them."""
