"""Throughput beside NVIDIA DALI's: ``python -m tests.benchmarks.throughput [NAME …]``, or ``--operators [NAME …]``.

Before anything is timed, both engines' outputs are compared. Each measurement is a process of its own; the engines take
turns, and what counts is the median of the ratios of neighbours. The training pipeline is also run by torchvision and
albumentations in a DataLoader, where they are installed. Results are kept with date and machine under
``tests/benchmarks/results``, as a table for the README.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from tests.benchmarks import engines, operators
from tests.benchmarks.data import folder
from tests.benchmarks.engines import ALL, DALI, OURS
from tests.benchmarks.pipelines import BENCHMARKS

Row = dict[str, float]
OTHERS = ("torchvision", "albumentations")
RIVALLED = "training"
"""The pipeline that the others run, too."""


def main() -> None:
    """Measure, print the table, keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pipelines (or operators); all if none is named")
    parser.add_argument(
        "--operators", action="store_true", help="every operator by itself, by a case of its declaration"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=None, help="of each measurement (4, or 0.3 of an operator)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", metavar="ENGINE", help=argparse.SUPPRESS)
    parser.add_argument("--missing", choices=OTHERS, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="only compare the outputs")
    arguments = parser.parse_args()
    if arguments.missing:
        from tests.benchmarks import loaders

        print(loaders.missing(arguments.missing))
        return
    if arguments.operators:
        seconds = arguments.seconds or 0.3
        text, kept = operators.report(arguments.names, arguments.threads, seconds, arguments.rounds), "operators"
    else:
        unknown = set(arguments.names) - set(ALL)
        if unknown:
            parser.error(f"there is no pipeline {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
        seconds = arguments.seconds or 4.0
        if arguments.measure:
            print(json.dumps(engines.measure(arguments.measure, arguments.names[0], arguments.threads, seconds)))
            return
        if arguments.check:
            for name in arguments.names or ALL:
                print(f"{name}: {engines.check(name, arguments.threads) or 'outputs agree'}")
            return
        text, kept = report(arguments.names or list(ALL), arguments.threads, seconds, arguments.rounds), "throughput"
    print(text)
    if not arguments.names:
        keep(kept, text, arguments.threads)


def report(names: list[str], threads: int, seconds: float, rounds: int) -> str:
    """Measure the named pipelines; the table, and remarks under it."""
    results: dict[str, Row] = {}
    remarks = []
    for name in names:
        folder(ALL[name].data)
        differs = _run(["--check", name, "--threads", str(threads)]).strip().splitlines()[-1]
        if not differs.endswith("outputs agree"):
            remarks.append(f"Not timed, because outputs differ: {differs}.")
            continue
        results[name] = compare(name, threads, seconds, rounds)
        print(f"{name}: {results[name]['ratio']:.2f}", file=sys.stderr)
        if name == RIVALLED:
            remarks += rivals(results[name], threads, seconds, rounds)
    return "\n".join([table(results), *(["", *remarks] if remarks else [])])


def compare(name: str, threads: int, seconds: float, rounds: int) -> Row:
    """Both engines in turn."""
    pairs = [[in_process(engine, name, threads, seconds) for engine in (OURS, DALI)] for _ in range(rounds)]
    return {
        "ours": statistics.median(ours["rate"] for ours, _ in pairs),
        "dali": statistics.median(dali["rate"] for _, dali in pairs),
        "ratio": statistics.median(ours["rate"] / dali["rate"] for ours, dali in pairs),
        "cpu": statistics.median(ours["cpu"] for ours, _ in pairs),
        "cpu_dali": statistics.median(dali["cpu"] for _, dali in pairs),
        "memory": max(ours["memory"] for ours, _ in pairs),
        "memory_dali": max(dali["memory"] for _, dali in pairs),
    }


def rivals(row: Row, threads: int, seconds: float, rounds: int) -> list[str]:
    """Fill in how many times faster ours is than each of the others; remarks on those that cannot run."""
    remarks = []
    for other in OTHERS:
        reason = _run(["--missing", other]).strip()
        if reason:
            remarks.append(f"{other} cannot run here: {reason}.")
            continue
        pairs = [[in_process(one, RIVALLED, threads, seconds) for one in (OURS, other)] for _ in range(rounds)]
        row[other] = statistics.median(ours["rate"] / theirs["rate"] for ours, theirs in pairs)
        print(f"{RIVALLED}, {other}: {row[other]:.2f}", file=sys.stderr)
    return remarks


def in_process(engine: str, name: str, threads: int, seconds: float) -> dict[str, float]:
    """One measurement in a fresh process."""
    text = _run(["--measure", engine, name, "--threads", str(threads), "--seconds", str(seconds)])
    return dict(json.loads(text.strip().splitlines()[-1]))


def _run(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "tests.benchmarks.throughput", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def geometric_mean(ratios: list[float]) -> float:
    """Of ratios, which multiply."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(results: dict[str, Row]) -> str:
    """The results as a Markdown table: rates, how many times the others', CPU time, memory."""
    lines = [
        "| pipeline | samples/s | DALI's | × DALI | × torchvision | × albumentations"
        " | CPU µs | DALI's | MiB | DALI's |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in results.items():
        others = [f"{row[other]:.2f}" if other in row else "" for other in OTHERS]
        cells = [name, f"{row['ours']:,.0f}", f"{row['dali']:,.0f}", f"{row['ratio']:.2f}", *others]
        cells += [f"{row[key]:,.0f}" for key in ("cpu", "cpu_dali", "memory", "memory_dali")]
        lines.append(f"| {' | '.join(cells)} |")
    ratios = [row["ratio"] for name, row in results.items() if name in BENCHMARKS]
    if len(ratios) > 1:
        lines.append(f"| geometric mean of {len(ratios)} | | | {geometric_mean(ratios):.2f} | | | | | | |")
    return "\n".join(lines)


def keep(kind: str, text: str, threads: int) -> None:
    """Write a table with date and machine among the results."""
    target = Path(__file__).parent / "results"
    target.mkdir(exist_ok=True)
    today = datetime.date.today().isoformat()
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    machine = f"{processor()}, {os.cpu_count()} cores, {threads} threads, Python {platform.python_version()}{load}"
    (target / f"{kind}-{today}.md").write_text(f"# {kind.capitalize()}, {today}\n\n{machine}\n\n{text}\n")


def processor() -> str:
    """The processor's model name."""
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    main()
