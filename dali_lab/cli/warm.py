"""``dali-lab warm``: kernels compiled ahead, all of them or those of some graphs."""

from __future__ import annotations

import argparse
import time

from dali_lab.cli.options import Commands, add_command, load_graph
from dali_lab.cli.progress import Bar


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "warm", "compile kernels now, so that no first use waits for it")
    parser.add_argument(
        "graphs", metavar="GRAPH", nargs="*", help="graph files, each run for a batch (default: every kernel there is)"
    )
    parser.set_defaults(function=_warm)


def _warm(options: argparse.Namespace) -> int:
    from dali_lab.studio.warming import compile_graph, compile_kernels

    if options.graphs:
        for path in options.graphs:
            began = time.perf_counter()
            compile_graph(load_graph(path))
            print(f"{path} is ready ({time.perf_counter() - began:.0f} s).", flush=True)
        return 0
    bar = Bar()
    began = time.perf_counter()
    try:
        count = compile_kernels(lambda share, name: bar.show(share, name))
    finally:
        bar.clear()
    print(f"{count} operators are ready ({time.perf_counter() - began:.0f} s).")
    return 0
