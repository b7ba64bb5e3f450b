"""``dali-lab diff``: what differs between two graphs."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from dali_lab.cli.options import Commands, add_command, load_graph

if TYPE_CHECKING:
    from dali_lab.graph.graph import Graph


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "diff", "say what differs between two graphs, positions aside")
    parser.add_argument("left", metavar="A", help="a graph file, or a program in Python")
    parser.add_argument("right", metavar="B", help="the one to compare it with")
    parser.set_defaults(function=_diff)


def _diff(options: argparse.Namespace) -> int:
    from dali_lab.graph.difference import difference

    changes = difference(_graph(options.left), _graph(options.right))
    if changes and os.path.isfile(options.left) and os.path.isfile(options.right):
        # Git puts the old state into a folder of its own: a path that is written alike has not changed.
        changes = min(changes, difference(_as_written(options.left), _as_written(options.right)), key=len)
    for change in changes:
        print(change)
    return 1 if changes else 0


def _graph(path: str) -> Graph:
    """The graph in a file; none where git compares with a file that is not there."""
    from dali_lab.graph.graph import Graph

    return Graph() if path == os.devnull else load_graph(path)


def _as_written(path: str) -> Graph:
    """The graph in a file with its paths as they stand there."""
    from dali_lab.formats import loads
    from dali_lab.formats.disk import read_bytes

    return loads(read_bytes(path), file=path)
