"""``dali-lab run``: a graph, with what comes out and how fast, or a script written for NVIDIA DALI."""

from __future__ import annotations

import argparse
import gc

from dali_lab.cli.options import Commands, make_pipeline, pipeline_options, positive
from dali_lab.cli.progress import measured, print_bad_samples, print_rate


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run", help="run a graph and say how fast it is, or run a script written for NVIDIA DALI"
    )
    parser.add_argument(
        "graph",
        metavar="GRAPH|SCRIPT.py",
        help="a graph file, the folder of a gallery entry, or a script with its own arguments behind it",
    )
    parser.add_argument(
        "--batches", type=positive, default=None, metavar="N", help="batches to run (default: for 5 seconds)"
    )
    pipeline_options(parser)
    parser.set_defaults(function=_run)


def _run(options: argparse.Namespace) -> int:
    if options.graph.endswith(".py"):
        from dali_lab.cli.interruption import leave_to_programs
        from dali_lab.compat import run_script

        leave_to_programs()
        return run_script(options.graph, options.script)
    # Imported modules stay: looking for garbage in them again and again is a tenth of the start.
    gc.disable()
    try:
        from dali_lab.kernels.cpu import background

        pipeline = make_pipeline(options)
        result = measured(pipeline, options.batches, 5.0, summarize=True)
    finally:
        gc.enable()
    print_rate(result)
    print_bad_samples(pipeline)
    if background.busy():
        print("Kernels were still being compiled meanwhile; the next run is faster.")
    return 0
