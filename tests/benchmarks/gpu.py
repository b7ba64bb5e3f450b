"""Throughput on a GPU, beside NVIDIA DALI's where it is installed: ``python -m tests.benchmarks.gpu [NAME …]``.

The pipelines are those of ``tests.benchmarks.pipelines`` with decoders on "mixed", after which all runs on the GPU. The
engines take turns in one process; what counts is the ratio. Memory is what is free on the GPU before a pipeline is
made, less what is free while it runs; each engine gives its own back in between. Where there is no GPU it says so.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dali_lab.device.interface import Device, DeviceError
from dali_lab.executor.placement import find_device
from tests.benchmarks.data import folder
from tests.benchmarks.pipelines import BENCHMARKS

NAMES = ("training", "validation", "augment", "simclr")


class _Placed:
    """An engine's ``fn`` whose decoders are placed on "mixed"."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self.decoders = SimpleNamespace(
            image=self._mixed(functions.decoders.image),
            image_random_crop=self._mixed(functions.decoders.image_random_crop),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._functions, name)

    @staticmethod
    def _mixed(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *inputs, **arguments: function(*inputs, device="mixed", **arguments)


def make(engine: Any, name: str, threads: int, device_id: int) -> Any:
    """A pipeline of an engine, built."""
    benchmark = BENCHMARKS[name]
    settings = {"gpu": "require"} if engine.__name__ == "dali_lab" else {}
    pipeline = engine.Pipeline(benchmark.batch_size, threads, device_id, seed=1, prefetch_queue_depth=3, **settings)
    placed = SimpleNamespace(fn=_Placed(engine.fn), types=engine.types)
    with pipeline:
        outputs = benchmark.define(placed, str(folder(benchmark.data)))
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    return pipeline


def rate(pipeline: Any, batch_size: int, seconds: float) -> float:
    """Samples a second; the last batch is copied to the CPU, so that all work has run when the clock stops."""
    for _ in range(5):
        outputs = pipeline.run()
    outputs[0].as_cpu()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        outputs = pipeline.run()
        count += batch_size
    outputs[0].as_cpu()
    return count / (time.perf_counter() - began)


def give_back(engine: Any, device: Device) -> None:
    """Let an engine give the memory of pipelines that are gone back to the GPU."""
    gc.collect()
    if engine.__name__ == "dali_lab":
        device.arena.trim()
    else:
        engine.backend.ReleaseUnusedMemory()


def measure(engine: Any, name: str, device: Device, threads: int, seconds: float) -> tuple[float, int]:
    """Samples a second, and bytes of the GPU's memory."""
    before = device.memory()[0]
    pipeline = make(engine, name, threads, device.index)
    found = rate(pipeline, BENCHMARKS[name].batch_size, seconds)
    used = before - device.memory()[0]
    if engine.__name__ == "dali_lab":
        pipeline.close()
    del pipeline
    give_back(engine, device)
    return found, used


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="pipelines")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--device", type=int, default=0)
    arguments = parser.parse_args()
    import dali_lab

    try:
        device = find_device("require", arguments.device)
    except DeviceError as error:
        print(f"Nothing measured: {error}.")
        return 0
    engines: list[Any] = [dali_lab]
    try:
        import nvidia.dali
        import nvidia.dali.backend
        import nvidia.dali.fn
        import nvidia.dali.types

        engines.append(nvidia.dali)
    except ImportError:
        print("NVIDIA DALI is not installed; only DALI Lab is measured.", file=sys.stderr)
    print(
        "| pipeline | samples/s | NVIDIA DALI | ratio | GPU memory, MiB | NVIDIA DALI |\n|---|---:|---:|---:|---:|---:|"
    )
    for name in arguments.names:
        rounds = [
            [measure(engine, name, device, arguments.threads, arguments.seconds) for engine in engines]
            for _ in range(arguments.rounds)
        ]
        rates = [statistics.median(row[place][0] for row in rounds) for place in range(len(engines))]
        memory = [max(row[place][1] for row in rounds) >> 20 for place in range(len(engines))]
        cells = [name, f"{rates[0]:,.0f}", "", "", f"{memory[0]:,}", ""]
        if len(engines) > 1:
            ratio = statistics.median(row[0][0] / row[1][0] for row in rounds)
            cells[2:4] = [f"{rates[1]:,.0f}", f"{ratio:.2f}"]
            cells[5] = f"{memory[1]:,}"
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
