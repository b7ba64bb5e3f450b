"""``dali-lab bench``: throughput of a graph, node by node, and beside NVIDIA DALI where that is installed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dali_lab.cli.options import Commands, add_command, make_pipeline, pipeline_options, positive, seconds
from dali_lab.cli.progress import Bar

if TYPE_CHECKING:
    from dali_lab.cli.benchmark import Benchmark

Json = dict[str, Any]

_TITLES = {"dali_lab": "DALI Lab", "dali_lab with a cache": "with cache", "nvidia.dali": "NVIDIA DALI"}


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "bench", "measure the throughput of a graph, node by node, and beside NVIDIA DALI")
    parser.add_argument("graph", metavar="GRAPH", help="a graph file, or the folder of a gallery entry")
    parser.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="how long to run each engine (default: 10)"
    )
    parser.add_argument(
        "--rounds", type=positive, default=3, metavar="N", help="turns that the engines take (default: 3)"
    )
    parser.add_argument("--alone", action="store_true", help="without NVIDIA DALI, though it is installed")
    pipeline_options(parser)
    parser.set_defaults(function=_bench)


def _bench(options: argparse.Namespace) -> int:
    from statistics import median

    from dali_lab.cli.benchmark import CACHED, DALI, OURS, Benchmark

    with Benchmark(make_pipeline(options)) as benchmark:
        agreement = _agreement(benchmark, options.alone)
        rounds = _rounds(benchmark, options, beside=agreement is not None and agreement[0])
    print(f"{'':<12}  {'images/s':>10}  {'CPU µs an image':>15}  {'peak MiB':>8}")
    for engine in rounds[0]:
        title = _TITLES[engine]
        rate, cpu, memory = (median(turn[engine][key] for turn in rounds) for key in ("rate", "cpu", "memory"))
        print(f"{title:<12}  {rate:>10,.0f}  {cpu:>15,.1f}  {memory:>8,.0f}")
    for first, second in ((OURS, DALI), (CACHED, DALI), (CACHED, OURS)):
        if first in rounds[0] and second in rounds[0]:
            ratios = sorted(turn[first]["rate"] / turn[second]["rate"] for turn in rounds)
            spread = f" (from {ratios[0]:.2f} to {ratios[-1]:.2f})" if len(ratios) > 1 else ""
            begin = "" if first == OURS else "with the cache "
            print(f"{begin}{median(ratios):.2f} times {_TITLES[second]}{spread}")
    if CACHED in rounds[0]:
        kept = rounds[-1][CACHED]
        size = kept["nbytes"] * kept["samples"] / 1e6
        print(f"a cache of all {kept['samples']:,} samples is {size:,.1f} MB, {kept['nbytes'] / 1e3:,.1f} kB each")
    if agreement is not None:
        print(agreement[1])
    _print_nodes(rounds[-1][OURS]["nodes"])
    return 0


def _agreement(benchmark: Benchmark, alone: bool) -> tuple[bool, str] | None:
    """Whether NVIDIA DALI can run the graph, and how its first batch compares; `None` if it is not asked."""
    from dali_lab.cli.benchmark import BenchmarkError
    from dali_lab.model.errors import DaliLabError

    if alone:
        return None
    if not benchmark.has_dali():
        return False, "NVIDIA DALI is not installed, so there is nothing to compare with."
    bar = Bar()
    bar.show(0.0, "the first batch of both engines")
    try:
        found = benchmark.compare()
    except BenchmarkError as error:
        return False, f"Not compared with NVIDIA DALI: {error}"
    except DaliLabError as error:
        return False, f"NVIDIA DALI has no such graph: {error}"
    finally:
        bar.clear()
    return True, "first batch: " + ", ".join(f"output {index} {text}" for index, text in enumerate(found))


def _rounds(benchmark: Benchmark, options: argparse.Namespace, *, beside: bool) -> list[dict[str, Json]]:
    """Each engine's measurement in each round, with a progress bar."""
    from dali_lab.cli.benchmark import CACHED, DALI, OURS

    engines = (OURS, *((CACHED,) if benchmark.has_cache else ()), *((DALI,) if beside else ()))
    turns = options.rounds * len(engines)
    bar = Bar()
    results: list[dict[str, Json]] = []
    try:
        for turn in range(turns):
            engine = engines[turn % len(engines)]
            name = _TITLES[engine]

            def tell(share: float, rate: float, turn: int = turn, name: str = name) -> None:
                bar.show((turn + share) / turns, f"{name}: {rate:,.0f} images/s")

            bar.show(turn / turns, f"{name} starts")
            result = benchmark.measure(engine, options.seconds / options.rounds, tell)
            if turn % len(engines) == 0:
                results.append({})
            results[-1][engine] = result
    finally:
        bar.clear()
    return results


def _print_nodes(nodes: Json) -> None:
    """Time of each node, the longest first."""
    width = max((len(name) for name in nodes), default=4)
    print(f"\n{'node':<{width}}  {'ms a batch':>11}  {'images/s':>10}  share")
    total = sum(entry["time_ms"] for entry in nodes.values()) or 1.0
    for name, entry in sorted(nodes.items(), key=lambda item: -item[1]["time_ms"]):
        share = entry["time_ms"] / total
        print(f"{name:<{width}}  {entry['time_ms']:>11.2f}  {entry['images_per_second']:>10.0f}  {share:5.0%}")
    print("(time of a node is summed over threads)")
