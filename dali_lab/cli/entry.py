"""Finds the command, runs it, and tells what went wrong in a sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from dali_lab import __version__
from dali_lab.cli import (
    app,
    bench,
    cache,
    check,
    convert,
    diff,
    docs,
    export,
    gallery,
    index,
    ops,
    pack,
    run,
    show,
    warm,
)
from dali_lab.cli.interruption import INTERRUPTED
from dali_lab.model.errors import DaliLabError, FormatError

COMMANDS = (app, run, check, bench, export, show, ops, convert, diff, gallery, index, cache, pack, warm, docs)
"""In the order in which help lists them; each has ``add(commands)``, which declares its options and its function."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments
        Words after the program's name; by default those of this process.

    Returns
    -------
    int
        0 when all went well, 2 for what the person can put right, 130 when interrupted.
    """
    title = "dali-lab"
    try:
        parser = make_parser()
        own, script = split_script(list(sys.argv[1:] if arguments is None else arguments))
        options = parser.parse_args(own)
        options.script = script
        if options.command is None:
            parser.print_help()
            return 2
        title = f"dali-lab {options.command}"
        command: Callable[[argparse.Namespace], int] = options.function
        return command(options)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it; the rest of the buffer must not be tried again at exit.
        sys.stdout = None
        return 0
    except (DaliLabError, OSError) as error:
        print(f"{title}: {one_sentence(error)}", file=sys.stderr)
        return 2


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(prog="dali-lab", description="Compose, run and export data pipelines.")
    parser.add_argument("--version", action="version", version=f"dali-lab {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def split_script(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and behind ``run SCRIPT.py`` those of the script."""
    if arguments[:1] == ["run"]:
        for index, argument in enumerate(arguments):
            if argument.endswith(".py"):
                return arguments[: index + 1], arguments[index + 1 :]
    return arguments, []


def one_sentence(error: BaseException) -> str:
    """The text of an error for the terminal, with its place."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, FormatError) and error.source and not error.node:
        return f"{error.source}: {error.message}"
    return str(error)
