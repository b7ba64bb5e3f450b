"""``dali-lab pack``: the dataset of a graph as it stands at a node, in shards with the graph that reads them."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from dali_lab.cli.options import (
    Commands,
    add_command,
    load_graph,
    positive,
    ray_option,
    with_samples,
    work_options,
    written,
)
from dali_lab.cli.progress import Bar, time_text

if TYPE_CHECKING:
    from dali_lab.packing import Packing, Report

_SHOWN = 10


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "pack",
        "write the dataset of a graph into tar archives or TFRecord files, with the graph that reads them",
        description="Write the dataset of a graph as it stands at a node into tar archives (WebDataset) or TFRecord"
        " files with their indexes, and graph.dali.json, which reads them and goes on as the graph does. A run that was"
        " ended goes on where it was.",
    )
    parser.add_argument("graph", metavar="GRAPH", help="a graph file, or the folder of a gallery entry")
    parser.add_argument("folder", type=written, metavar="OUT", help="the folder for the shards")
    parser.add_argument("--at", default=None, metavar="NODE", help="pack what this node gives (default: the reader)")
    parser.add_argument("--form", choices=("webdataset", "tfrecord"), default="webdataset", help="form of the shards")
    parser.add_argument(
        "--small",
        nargs="?",
        type=positive,
        const=0,
        default=None,
        metavar="PIXELS",
        help="encode pictures anew with at most PIXELS on their shorter side (default: the largest size that the graph"
        " asks for); pictures are no longer exactly the same",
    )
    parser.add_argument(
        "--samples", type=positive, default=1024, metavar="N", help="samples in a shard (default: 1024)"
    )
    parser.add_argument(
        "--order",
        choices=("shuffled", "list"),
        default=None,
        help="mixed in a fixed way, or as the reader lists them (default: shuffled where the reader shuffles)",
    )
    parser.add_argument(
        "--on-error", choices=("raise", "skip"), default="raise", help="end at a bad sample, or leave it out"
    )
    work_options(parser)
    parser.add_argument("--anew", action="store_true", help="remove what another run has written to the folder")
    ray_option(parser, "pack on a Ray cluster whose machines share the folder")
    parser.set_defaults(function=_pack)


def _pack(options: argparse.Namespace) -> int:
    from pathlib import Path

    from dali_lab.packing import Packing

    packing = Packing(
        with_samples(load_graph(options.graph)),
        Path(options.folder),
        at=options.at,
        form=options.form,
        small=options.small,
        samples=options.samples,
        order=options.order,
        on_error=options.on_error,
        batch_size=options.batch_size,
        threads=options.threads,
    )
    try:
        packing.open(anew=options.anew)
        report = _run(packing, options.ray)
    finally:
        packing.close()
    size = report.nbytes / 1e6
    print(
        f"{report.samples:,} samples in {report.shards:,} shards, {size:,.1f} MB, {size / report.samples * 1e3:,.1f} kB"
        f" a sample; {report.seconds:.1f} s, {report.rate:,.0f} samples/s"
    )
    if report.bad:
        print(f"{len(report.bad):,} bad {'sample was' if len(report.bad) == 1 else 'samples were'} left out:")
        for text in report.bad[:_SHOWN]:
            print(f"  {text}")
    if packing.small is not None:
        print(f"Pictures were encoded anew, {packing.small} pixels on their shorter side at most: they are not exact.")
    print(f"Graph: {report.graph}")
    return 0


def _run(packing: Packing, address: str | None) -> Report:
    bar = Bar()
    before = sum(len(packing.shard_places(each.number)) for each in packing.done)
    if packing.done:
        print(f"Going on behind {before:,} of {packing.total:,} samples.", flush=True)
    began, done = time.monotonic(), 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        rate = done / max(1e-9, time.monotonic() - began)
        left = (packing.total - before - done) / max(1e-9, rate)
        text = f"{before + done:,} of {packing.total:,}, {rate:,.0f}/s, {time_text(left)} left"
        bar.show((before + done) / packing.total, text)

    written = None
    if address is not None:
        from dali_lab.plugin.ray import connect

        connect(address or None)
        from dali_lab.interop.ray.packs import cluster_pack

        written = cluster_pack(packing, tell)
    try:
        return packing.run(tell, written)
    finally:
        bar.clear()
