"""Runs one pipeline in this process: samples a second, CPU time, memory, and outputs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.benchmarks.data import folder
from tests.benchmarks.pipelines import BENCHMARKS, EXTRA, Benchmark

ALL = {**BENCHMARKS, **EXTRA}
OURS, DALI = "dali_lab", "nvidia.dali"
BEYOND = 1e-5
"""Share of elements that may differ by more than a benchmark's tolerance."""


def load(name: str) -> ModuleType:
    """The engine of a name."""
    if name == OURS:
        import dali_lab

        return dali_lab
    import nvidia.dali
    import nvidia.dali.fn
    import nvidia.dali.types

    return nvidia.dali


def build(engine: Any, benchmark: Benchmark, threads: int) -> Any:
    """The benchmark's pipeline, built."""
    pipeline = engine.Pipeline(benchmark.batch_size, threads, None, seed=1)
    with pipeline:
        outputs = benchmark.define(engine, str(folder(benchmark.data)))
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    return pipeline


def timed(step: Callable[[], Any], samples: int, seconds: float, warm_up: int = 4) -> dict[str, float]:
    """Run batches of `samples` for a time, after some that do not count.

    Returns
    -------
    dict
        ``rate`` in samples a second, ``cpu`` in microseconds of CPU time a sample, ``memory`` in MiB at its peak,
        both with those of worker processes.
    """
    for _ in range(warm_up):
        step()
    before = _cpu_seconds()
    began = time.perf_counter()
    batches = 0
    while time.perf_counter() - began < seconds:
        step()
        batches += 1
    spent = time.perf_counter() - began
    count = batches * samples
    memory = sum(_peak_memory(process) for process in ("self", *_children()))
    return {"rate": count / spent, "cpu": 1e6 * (_cpu_seconds() - before) / count, "memory": memory}


def _cpu_seconds() -> float:
    """CPU time of this process and the processes that it started and that still run."""
    total = time.process_time()
    for child in _children():
        with open(f"/proc/{child}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _peak_memory(process: str) -> float:
    """Peak memory of a process in MiB; that of the program from which it was started is no part of it."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def _children() -> list[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read().split()


def measure(engine: str, name: str, threads: int, seconds: float) -> dict[str, float]:
    """Time one benchmark in this process; `engine` is one of the two, or one of the loaders."""
    benchmark = ALL[name]
    if engine not in (OURS, DALI):
        from tests.benchmarks.loaders import LOADERS

        return timed(
            LOADERS[engine](folder(benchmark.data), benchmark.batch_size, threads), benchmark.batch_size, seconds
        )
    return timed(build(load(engine), benchmark, threads).run, benchmark.batch_size, seconds)


def outputs(pipeline: Any, batches: int = 2) -> list[list[list[np.ndarray]]]:
    """The samples of each output of each batch."""
    return [[[np.array(one.at(i)) for i in range(len(one))] for one in pipeline.run()] for _ in range(batches)]


def disagreement(left: list[list[list[np.ndarray]]], right: list[list[list[np.ndarray]]], tolerance: float) -> str:
    """In what two engines' outputs differ by more than is allowed; empty if they agree."""
    beyond = total = 0
    largest = 0.0
    for ours, theirs in zip(left, right, strict=True):
        for index, (first, second) in enumerate(zip(ours, theirs, strict=True)):
            for sample, (a, b) in enumerate(zip(first, second, strict=True)):
                if a.shape != b.shape or a.dtype != b.dtype:
                    return f"output {index}, sample {sample}: {a.dtype}{list(a.shape)} beside {b.dtype}{list(b.shape)}"
                difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
                difference = np.where(np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)), 0, difference)
                beyond += int((~(difference <= tolerance)).sum())
                total += a.size
                largest = max(largest, float(difference.max(initial=0.0)))
    if beyond <= BEYOND * total:
        return ""
    return f"{beyond} of {total} elements differ by more than {tolerance:g}, at most by {largest:g}"


def check(name: str, threads: int) -> str:
    """Run both engines on a benchmark's first batches and say in what they differ."""
    found = [outputs(build(load(engine), ALL[name], threads)) for engine in (OURS, DALI)]
    return disagreement(found[0], found[1], ALL[name].tolerance)
