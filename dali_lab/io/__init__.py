"""Bytes of files and what they hold, without operators: the wire form of protocol buffers."""
