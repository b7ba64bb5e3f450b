"""File formats, without operators: the wire format of protocol buffers."""
