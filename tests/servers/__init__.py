"""Servers of files for tests: S3, a web server, and a proxy that puts delays and faults in between."""
