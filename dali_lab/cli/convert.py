"""``dali-lab convert``: a graph read in one form and written in another."""

from __future__ import annotations

import argparse

from dali_lab.cli.options import Commands


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("convert", help="read a graph in one form and write it in another")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO", help="its ending tells the form")
    parser.set_defaults(function=_convert)


def _convert(options: argparse.Namespace) -> int:
    from dali_lab.formats import dump, load

    dump(load(options.source), options.target)
    return 0
