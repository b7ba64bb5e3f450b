"""``dali-lab convert``: a graph read in one form and written in another."""

from __future__ import annotations

import argparse
import ast
import sys
from typing import TYPE_CHECKING

from dali_lab.cli.options import Commands, add_command, load_graph

if TYPE_CHECKING:
    from dali_lab.graph.graph import Graph


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "convert", "read a graph in one form and write it in another")
    parser.add_argument("source", metavar="FROM", help="a graph file, or a program in Python")
    parser.add_argument("target", metavar="TO", help="its ending tells the form, unless --to does")
    parser.add_argument("--to", metavar="FORM", help="python, nvidia-python, torchvision, keras, json, ...")
    parser.add_argument("--pipeline", metavar="NAME", help="the one to read from a program with several")
    parser.add_argument(
        "--argument",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument of the program's pipeline function; may be given several times",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="run the program, in a process of its own, to know its graph; only for programs that you trust",
    )
    parser.set_defaults(function=_convert)


def _convert(options: argparse.Namespace) -> int:
    from dali_lab.formats import dump, lost

    graph = _read(options)
    for sentence in lost(graph, options.to or options.target):
        print(f"dali-lab convert: {sentence}", file=sys.stderr)
    dump(graph, options.target, options.to)
    return 0


def _read(options: argparse.Namespace) -> Graph:
    from dali_lab.formats.python.plain_values import NeedsRunning
    from dali_lab.formats.python.tracing import trace
    from dali_lab.model.errors import FormatError

    arguments = dict(map(_argument, options.argument))
    if options.trace:
        return trace(options.source, options.pipeline, arguments=arguments)
    try:
        return load_graph(options.source, name=options.pipeline, arguments=arguments)
    except FormatError as error:
        reason = error.__cause__
        if isinstance(reason, NeedsRunning) and reason.missing:
            error.message = f"line {reason.line}: {reason}; give it one: --argument {reason.missing}=VALUE"
        elif error.code == "needs_running":
            error.message += ": --trace"
        raise


def _argument(text: str) -> tuple[str, object]:
    """A name and a value: what Python would take it for, or else the text itself."""
    from dali_lab.model.errors import FormatError

    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise FormatError(f"--argument takes NAME=VALUE, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value
