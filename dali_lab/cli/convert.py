"""``dali-lab convert``: a graph read in one form and written in another."""

from __future__ import annotations

import argparse
import sys

from dali_lab.cli.options import Commands


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("convert", help="read a graph in one form and write it in another")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO", help="its ending tells the form, unless --to does")
    parser.add_argument("--to", metavar="FORM", help="python, nvidia-python, dali-serialized, json, torchvision, ...")
    parser.add_argument("--pipeline", metavar="NAME", help="the one to read from a program with several")
    parser.set_defaults(function=_convert)


def _convert(options: argparse.Namespace) -> int:
    from dali_lab.formats import dump, load, lost

    graph = load(options.source, name=options.pipeline)
    for sentence in lost(graph, options.to or options.target):
        print(f"dali-lab convert: {sentence}", file=sys.stderr)
    dump(graph, options.target, options.to)
    return 0
