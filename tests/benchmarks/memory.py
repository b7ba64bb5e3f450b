"""Resident memory over many batches: ``python -m tests.benchmarks.memory [BATCHES]`` prints it as it goes.

A pipeline of small pictures runs for 10,000 batches; memory must be flat after the first few hundred.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from dali_lab import Pipeline, fn
from tests.benchmarks.data import folder
from tests.benchmarks.pipelines import thumbnails


def resident() -> float:
    """Resident memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Run, print a line every tenth of the way, and the growth over the last nine tenths."""
    import dali_lab

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batches", nargs="?", type=int, default=10_000)
    parser.add_argument("--batch-size", type=int, default=8)
    arguments = parser.parse_args()
    pipeline = Pipeline(arguments.batch_size, 2, None, seed=1)
    with pipeline:
        pipeline.set_outputs(thumbnails(dali_lab, str(folder("jpeg64"))), fn.random.uniform(shape=[16]))
    pipeline.build()
    began = time.perf_counter()
    readings = []
    for tenth in range(1, 11):
        for _ in range(arguments.batches // 10):
            pipeline.run()
        readings.append(resident())
        print(f"{tenth * arguments.batches // 10:>8} batches  {readings[-1]:8.1f} MiB")
    seconds = time.perf_counter() - began
    print(f"growth after the first tenth: {readings[-1] - readings[0]:+.1f} MiB in {seconds:.0f} s")


if __name__ == "__main__":
    main()
