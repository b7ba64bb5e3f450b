"""``dali-lab warm``: all kernels compiled ahead."""

from __future__ import annotations

import argparse
import time

from dali_lab.cli.options import Commands
from dali_lab.cli.progress import Bar


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("warm", help="compile all kernels now, so that no first use waits for it")
    parser.set_defaults(function=_warm)


def _warm(options: argparse.Namespace) -> int:
    from dali_lab.studio.warming import compile_kernels

    bar = Bar()
    began = time.perf_counter()
    try:
        count = compile_kernels(lambda share, name: bar.show(share, name))
    finally:
        bar.clear()
    print(f"{count} operators are ready ({time.perf_counter() - began:.0f} s).")
    return 0
