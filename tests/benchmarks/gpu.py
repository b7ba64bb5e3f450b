"""Throughput on a GPU, beside NVIDIA DALI's where it is installed: ``python -m tests.benchmarks.gpu [NAME …]``.

The pipelines are those of ``tests.benchmarks.pipelines`` with decoders on "mixed", after which all runs on the GPU. The
engines take turns in one process; what counts is the ratio. Memory is what is free on the GPU before a pipeline is
made, less what is free while it runs; each engine gives its own back in between, and what ours keeps counts as its own.
Beside it stand the launches of a batch after decoding, and the segments that they are for: nodes of the graph as it is
run, in which operators are fused. Where there is no GPU it says so; ``--emulated`` takes the emulated device, for
launches and memory; rates say nothing.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from dali_lab.device.interface import Device
from dali_lab.executor.placement import find_device
from dali_lab.model.errors import DeviceError
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


@dataclass(frozen=True)
class Setting:
    """Settings of a benchmark run.

    Attributes
    ----------
    device
        On which device.
    threads
        Threads of the CPU.
    seconds
        Time of a measurement.
    batch_size
        Samples in a batch; 0 for the pipeline's own.
    """

    device: Device
    threads: int = 8
    seconds: float = 5.0
    batch_size: int = 0

    def size(self, name: str) -> int:
        """Samples in a batch of a pipeline."""
        return self.batch_size or BENCHMARKS[name].batch_size


def make(engine: Any, name: str, setting: Setting) -> Any:
    """A pipeline of an engine, built."""
    benchmark, device = BENCHMARKS[name], setting.device
    settings = {"gpu": "require" if device.kind == "cuda" else device.kind} if engine.__name__ == "dali_lab" else {}
    pipeline = engine.Pipeline(
        setting.size(name), setting.threads, device.index, seed=1, prefetch_queue_depth=3, **settings
    )
    placed = SimpleNamespace(fn=_Placed(engine.fn), types=engine.types)
    with pipeline:
        outputs = benchmark.define(placed, str(folder(benchmark.data)))
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    return pipeline


def rate(pipeline: Any, batch_size: int, seconds: float) -> float:
    """Samples a second; the last batch is copied to the CPU, so that all work has run when the clock stops."""
    for _ in range(5 if seconds else 1):
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


def launches(pipeline: Any) -> tuple[int, int]:
    """Launches of a batch after decoding, and segments of the graph that they are for."""
    graph = pipeline._built().plan.graph
    rows = [
        row["gpu_launches"]
        for name, row in pipeline.executor_statistics().items()
        if "gpu_launches" in row and graph.nodes[name].device == "gpu"
    ]
    return sum(rows), len(rows)


@dataclass(frozen=True)
class Measured:
    """One engine on one pipeline: samples a second, bytes of the GPU's memory, launches and segments (ours alone)."""

    rate: float
    memory: int
    launches: int = 0
    segments: int = 0


def measure(engine: Any, name: str, setting: Setting) -> Measured:
    """Run a pipeline of an engine, and give its memory back."""
    give_back(engine, setting.device)
    ours = engine.__name__ == "dali_lab"
    before = setting.device.memory()[0] + (setting.device.arena.held if ours else 0)
    pipeline = make(engine, name, setting)
    found = rate(pipeline, setting.size(name), setting.seconds)
    used = before - setting.device.memory()[0]
    counts = (0, 0)
    if ours:
        counts = launches(pipeline)
        pipeline.close()
    del pipeline
    give_back(engine, setting.device)
    return Measured(found, used, *counts)


HEAD = (
    "| pipeline | samples/s | NVIDIA DALI | ratio | GPU memory, MiB | NVIDIA DALI | launches per batch | segments |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)


def line(name: str, rounds: list[list[Measured]]) -> str:
    """A row of the table: medians of the rates, the largest memory; each round has our engine first."""
    rates = [statistics.median(row[place].rate for row in rounds) for place in range(len(rounds[0]))]
    memory = [max(row[place].memory for row in rounds) >> 20 for place in range(len(rounds[0]))]
    ours = rounds[-1][0]
    cells = [name, f"{rates[0]:,.0f}", "", "", f"{memory[0]:,}", "", str(ours.launches), str(ours.segments)]
    if len(rates) > 1:
        ratio = statistics.median(row[0].rate / row[1].rate for row in rounds)
        cells[2:4] = [f"{rates[1]:,.0f}", f"{ratio:.2f}"]
        cells[5] = f"{memory[1]:,}"
    return f"| {' | '.join(cells)} |"


def find_engines(device: Device) -> list[Any]:
    """Ours, and NVIDIA DALI where it is installed and there is a GPU for it."""
    import dali_lab

    engines: list[Any] = [dali_lab]
    if device.kind == "cuda":
        try:
            import nvidia.dali
            import nvidia.dali.backend
            import nvidia.dali.fn
            import nvidia.dali.types

            engines.append(nvidia.dali)
        except ImportError:
            print("NVIDIA DALI is not installed; only DALI Lab is measured.", file=sys.stderr)
    return engines


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="pipelines")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=0)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--emulated", action="store_true", help="run on the emulated device, without a GPU")
    arguments = parser.parse_args(given)
    try:
        device = find_device("emulated" if arguments.emulated else "require", arguments.device)
    except DeviceError as error:
        print(f"Nothing measured: {error}.")
        return 0
    setting = Setting(device, arguments.threads, arguments.seconds, arguments.batch_size)
    engines = find_engines(device)
    print(f"{datetime.datetime.now(datetime.UTC).date()}, {device}, {arguments.threads} threads\n\n{HEAD}")
    for name in arguments.names:
        rounds = [[measure(engine, name, setting) for engine in engines] for _ in range(arguments.rounds)]
        print(line(name, rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
