"""``dali-lab bench``: throughput of a graph, node by node."""

from __future__ import annotations

import argparse

from dali_lab.cli.options import Commands, make_pipeline, pipeline_options, seconds
from dali_lab.cli.progress import measured, print_rate


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("bench", help="throughput of a graph, node by node")
    parser.add_argument("graph", metavar="GRAPH", help="a graph file")
    parser.add_argument("--seconds", type=seconds, default=10.0, metavar="S", help="how long to run (default: 10)")
    pipeline_options(parser)
    parser.set_defaults(function=_bench)


def _bench(options: argparse.Namespace) -> int:
    result = measured(make_pipeline(options), None, options.seconds, summarize=False)
    print_rate(result)
    width = max((len(name) for name in result["nodes"]), default=4)
    print(f"\n{'node':<{width}}  {'ms a batch':>11}  {'images/s':>10}  share")
    total = sum(entry["time_ms"] for entry in result["nodes"].values()) or 1.0
    for name, entry in sorted(result["nodes"].items(), key=lambda item: -item[1]["time_ms"]):
        share = entry["time_ms"] / total
        print(f"{name:<{width}}  {entry['time_ms']:>11.2f}  {entry['images_per_second']:>10.0f}  {share:5.0%}")
    print("(time of a node is summed over threads)")
    return 0
