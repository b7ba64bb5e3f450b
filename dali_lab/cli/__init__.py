"""The command line: one module per command, with its options and what it does."""

from dali_lab.cli.entry import main, make_parser

__all__ = ["main", "make_parser"]
