"""Readers of video files."""
