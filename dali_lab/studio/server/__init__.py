"""The app's server: who is let in, what a page may load, and how much a client may ask for."""
