"""Programs for other libraries, made from graphs."""
