"""Throughput of the ten pipelines beside NVIDIA DALI's: ``python -m tests.benchmarks.throughput [NAME …]``.

Each measurement is a process of its own; the two engines take turns, and what counts is the median of the ratios of
neighbours. Results are kept with date and machine under ``tests/benchmarks/results``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.data import folder
from tests.benchmarks.pipelines import BENCHMARKS, EXTRA

ALL = {**BENCHMARKS, **EXTRA}
ENGINES = ("dali_lab", "nvidia.dali")


def measure(engine_name: str, name: str, threads: int, seconds: float) -> dict[str, float]:
    """Samples a second of one pipeline in this process, after a warm-up, and its peak memory in MiB."""
    if engine_name == "dali_lab":
        import dali_lab as engine
    else:
        import nvidia.dali as engine
        import nvidia.dali.fn
        import nvidia.dali.types  # noqa: F401
    benchmark = ALL[name]
    root = str(folder(benchmark.data))
    pipeline = engine.Pipeline(benchmark.batch_size, threads, None, seed=1)
    with pipeline:
        outputs = benchmark.define(engine, root)
        pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    pipeline.build()
    for _ in range(4):
        pipeline.run()
    began = time.perf_counter()
    batches = 0
    while time.perf_counter() - began < seconds:
        pipeline.run()
        batches += 1
    rate = batches * benchmark.batch_size / (time.perf_counter() - began)
    return {"rate": rate, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def in_process(engine: str, name: str, threads: int, seconds: float) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "tests.benchmarks.throughput", "--measure", engine, name]
    command += ["--threads", str(threads), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{engine} failed on {name}:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def compare(name: str, threads: int, seconds: float, rounds: int) -> dict[str, float]:
    """Both engines in turn."""
    folder(ALL[name].data)
    pairs = [[in_process(engine, name, threads, seconds) for engine in ENGINES] for _ in range(rounds)]
    return {
        "ours": statistics.median(pair[0]["rate"] for pair in pairs),
        "dali": statistics.median(pair[1]["rate"] for pair in pairs),
        "ratio": statistics.median(pair[0]["rate"] / pair[1]["rate"] for pair in pairs),
        "memory": max(pair[0]["memory"] for pair in pairs),
        "memory_dali": max(pair[1]["memory"] for pair in pairs),
    }


def table(results: dict[str, dict[str, float]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| pipeline | samples/s | NVIDIA DALI | ratio | peak MiB | NVIDIA DALI |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in results.items():
        lines.append(
            f"| {name} | {row['ours']:,.0f} | {row['dali']:,.0f} | {row['ratio']:.2f}"
            f" | {row['memory']:,.0f} | {row['memory_dali']:,.0f} |"
        )
    ratios = [row["ratio"] for name, row in results.items() if name in BENCHMARKS]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"| geometric mean | | | {mean:.2f} | | |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pipelines; all if none is named")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", metavar="ENGINE", help="measure one pipeline in this process")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.names[0], arguments.threads, arguments.seconds)))
        return
    results = {}
    for name in arguments.names or ALL:
        results[name] = compare(name, arguments.threads, arguments.seconds, arguments.rounds)
        print(f"{name}: {results[name]['ratio']:.2f}", file=sys.stderr)
    print(table(results))
    if not arguments.names:
        kept = Path(__file__).parent / "results"
        kept.mkdir(exist_ok=True)
        today = datetime.date.today().isoformat()
        machine = f"{platform.machine()}, {os.cpu_count()} cores, {arguments.threads} threads"
        machine += f", Python {platform.python_version()}"
        (kept / f"throughput-{today}.md").write_text(f"# Throughput, {today}\n\n{machine}\n\n{table(results)}\n")


if __name__ == "__main__":
    main()
