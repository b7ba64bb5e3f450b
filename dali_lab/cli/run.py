"""``dali-lab run``: a graph, with what comes out and how fast, or a script written for NVIDIA DALI."""

from __future__ import annotations

import argparse
import gc
import time

from dali_lab.cli.interruption import leave_to_programs
from dali_lab.cli.options import Commands, add_command, make_pipeline, pipeline_options, positive, ray_option
from dali_lab.cli.progress import measured, print_bad_samples, print_rate


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "run", "run a graph and say how fast it is, or run a script written for NVIDIA DALI")
    parser.add_argument(
        "graph",
        metavar="GRAPH|SCRIPT.py",
        help="a graph file, the folder of a gallery entry, or a script with its own arguments behind it",
    )
    parser.add_argument(
        "--batches", type=positive, default=None, metavar="N", help="batches to run (default: for 5 seconds)"
    )
    ray_option(parser, "run an epoch on a Ray cluster")
    pipeline_options(parser)
    parser.set_defaults(function=_run)


def _run(options: argparse.Namespace) -> int:
    if options.graph.endswith(".py"):
        from dali_lab.compat import run_script

        leave_to_programs()
        return run_script(options.graph, options.script)
    if options.ray is not None:
        return _run_on_ray(options)
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


def _run_on_ray(options: argparse.Namespace) -> int:
    """Run an epoch, or some batches of it, on a cluster; Ray shows its own progress bars."""
    from dali_lab.plugin.ray import connect, dataset, iterator

    pipeline = make_pipeline(options)
    connect(options.ray or None)
    from dali_lab.interop.ray.plan import first_reader, reads

    graph = pipeline.graph
    made = dataset(pipeline, batches=None if reads(graph) else options.batches or 100, reader_name=first_reader(graph))
    first = 0.0
    batches = samples = 0
    began = time.perf_counter()
    for batch in iterator(made, tensors="numpy"):
        rows = len(next(iter(batch.values())))
        if not batches:
            first = time.perf_counter() - began
            for name, values in batch.items():
                print(f"{name}: {getattr(values, 'dtype', '')} {getattr(values, 'shape', rows)}", flush=True)
        batches += 1
        samples += rows
        if batches == options.batches:
            break
    spent = time.perf_counter() - began
    rate = samples / spent if spent else 0.0
    print(f"{samples:,} samples in {batches:,} batches, {spent:.2f} s: {rate:,.0f} images/s; first batch {first:.1f} s")
    return 0
