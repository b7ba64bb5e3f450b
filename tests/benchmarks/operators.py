"""Every operator by itself beside NVIDIA DALI's, on a case of its own declaration brought to the size of real data.

An engine is imported once in a process that forks a fresh one for each measurement; the two take turns.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dali_lab.model.documentation import page_name
from dali_lab.schema.cases import Case, PerSample
from dali_lab.schema.operator import Operator
from tests.benchmarks.engines import DALI, OURS, disagreement, load, outputs, timed
from tests.conformance.harness import argument, expanded

BATCH = 32
EXTENT = {"H": 240, "W": 320, "D": 24}
SOUND, ELEMENTS = 48_000, 4_096
"""Extents that samples are brought to: pictures, volumes, sounds, and tensors without a layout of one dimension."""
SLOW = 1 / 1.5
"""Ratios below this are listed."""


def measured_operators() -> dict[str, type[Operator]]:
    """Operators that NVIDIA DALI has and whose declaration carries cases, by name."""
    from dali_lab.schema.registry import all_operators

    return {
        name: operator
        for name, operator in all_operators().items()
        if not operator.beyond_dali and not operator.hidden and "cpu" in operator.devices and any(operator.cases())
    }


def representative(operator: type[Operator]) -> Case:
    """The first case of a declaration, or the one that it names for benchmarks, with inputs of real extent."""
    cases = list(operator.cases())
    chosen = next((case for case in cases if case.name == "benchmark"), cases[0])
    inputs = tuple((_enlarged(arrays, layout), layout) for arrays, layout in expanded(chosen.inputs, chosen.batch_size))
    values = {name: _repeated(value) for name, value in chosen.arguments.items()}
    return Case(inputs, values, tolerance=chosen.tolerance, batch_size=BATCH)


def _repeated(value: Any) -> Any:
    if not isinstance(value, PerSample):
        return value
    return PerSample([value.values[i % len(value.values)] for i in range(BATCH)], value.layout)


def _enlarged(arrays: list[np.ndarray], layout: str) -> list[np.ndarray]:
    """A batch of the same kind of data: pictures, volumes and sounds repeated along their axes until they are large."""
    result = []
    for index in range(BATCH):
        array = np.asarray(arrays[index % len(arrays)])
        for axis in range(array.ndim):
            letter = layout[axis] if axis < len(layout) else ""
            wanted = EXTENT.get(letter, 0)
            if array.ndim == 1 and not layout:
                wanted = SOUND if array.dtype == np.float32 and array.size > 100 else 0
            if 0 < array.shape[axis] < wanted:
                array = np.take(array, np.arange(wanted) % array.shape[axis], axis=axis)
        result.append(np.ascontiguousarray(array))
    return result


def build(engine: Any, name: str, case: Case, threads: int) -> Any:
    """A pipeline of this operator alone, fed without copying."""
    fn = engine.fn

    def feed(arrays: list[np.ndarray], layout: str) -> Any:
        options: dict[str, Any] = {"layout": layout} if layout else {}
        return fn.external_source(source=lambda: arrays, no_copy=True, **options)

    function = fn
    for part in name.split("."):
        function = getattr(function, part)
    pipeline = engine.Pipeline(BATCH, threads, None, seed=1234)
    with pipeline:
        nodes = [feed(list(arrays), layout) for arrays, layout in case.inputs]
        arguments = {key: argument(value, engine.types, feed) for key, value in case.arguments.items()}
        results = function(*nodes, **arguments)
        pipeline.set_outputs(*(results if isinstance(results, (tuple, list)) else (results,)))
    pipeline.build()
    return pipeline


def serve(engine_name: str, threads: int, seconds: float) -> None:
    """Answer names of operators on standard input with measurements, each made by a fork of this process."""
    engine = load(engine_name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    operators = measured_operators()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            answers.write(json.dumps(_answer(engine, operators[line.strip()], threads, seconds)) + "\n")
            answers.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            answers.write(json.dumps({"error": "the process ended"}) + "\n")
            answers.flush()


def _answer(engine: Any, operator: type[Operator], threads: int, seconds: float) -> dict[str, Any]:
    try:
        pipeline = build(engine, operator.name, representative(operator), threads)
        return timed(pipeline.run, BATCH, seconds, warm_up=3)
    except Exception as error:  # told in the table
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}


class _Server:
    """An engine in a process of its own."""

    def __init__(self, engine: str, threads: int, seconds: float) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.operators", engine, str(threads), str(seconds)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def ask(self, name: str) -> dict[str, Any]:
        """One measurement."""
        questions, answers = self.process.stdin, self.process.stdout
        assert questions is not None
        assert answers is not None
        questions.write(name + "\n")
        questions.flush()
        return dict(json.loads(answers.readline()))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def differs(name: str, threads: int) -> str:
    """In what the engines' outputs differ on the case that is timed."""
    case = representative(measured_operators()[name])
    found = [outputs(build(load(engine), name, case, threads), 1) for engine in (OURS, DALI)]
    return disagreement(found[0], found[1], case.tolerance)


def report(names: list[str], threads: int, seconds: float, rounds: int) -> str:
    """Measure operators; a table from the slowest ratio to the fastest, and those that could not be measured."""
    servers = [_Server(engine, threads, seconds) for engine in (OURS, DALI)]
    lines, rows, remarks = [], [], []
    wanted = names or list(measured_operators())
    try:
        for name in wanted:
            pairs = [[server.ask(name) for server in servers] for _ in range(rounds)]
            errors = [answer["error"] for pair in pairs for answer in pair if "error" in answer]
            if errors:
                remarks.append(f"* `{name}`: {errors[0]}")
                continue
            ratio = statistics.median(ours["rate"] / theirs["rate"] for ours, theirs in pairs)
            cpu = [statistics.median(pair[side]["cpu"] for pair in pairs) for side in (0, 1)]
            rate = [statistics.median(pair[side]["rate"] for pair in pairs) for side in (0, 1)]
            rows.append((ratio, name, rate, cpu))
            print(f"{name}: {ratio:.2f}", file=sys.stderr)
    finally:
        for server in servers:
            server.close()
    lines = ["| operator | samples/s | DALI's | × DALI | CPU µs | DALI's |", "|---|---:|---:|---:|---:|---:|"]
    for ratio, name, rate, cpu in sorted(rows):
        lines.append(f"| {name} | {rate[0]:,.0f} | {rate[1]:,.0f} | {ratio:.2f} | {cpu[0]:,.1f} | {cpu[1]:,.1f} |")
    slow = sum(ratio < SLOW for ratio, *_ in rows)
    lines += ["", f"{len(rows)} operators; {slow} take more than 1.5 times as long as NVIDIA DALI's."]
    if remarks:
        lines += ["", "Not measured:", "", *remarks]
    return "\n".join(lines)


def costs(names: list[str]) -> Iterator[str]:
    """Rows of ``docs/reference/cost.md``: processor time of a sample on one thread, the best of three measurements.

    Decoders are left out: their cases are pictures of a few pixels, and :mod:`throughput` decodes photographs.
    """
    engine = load(OURS)
    operators = measured_operators()
    for name in names or sorted(operators):
        if name.startswith("decoders."):
            continue
        case = representative(operators[name])
        pipeline = build(engine, name, case, 1)
        for _ in range(6):  # kernels are compiled, and memory is there
            pipeline.run()
        best = min(_processor_time(pipeline) for _ in range(3))
        pipeline.close()
        inputs = ", ".join(_described(arrays[0]) for arrays, _ in case.inputs) or "none"
        yield cost_row(name, best, inputs)


def cost_row(name: str, seconds: float, inputs: str) -> str:
    """A row of the table of costs."""
    figure = f"{seconds * 1e6:,.0f}" if seconds >= 1e-5 else f"{seconds * 1e6:.1f}"
    return f"| [`{name}`](operators/{page_name(name)}.md) | {figure} | {inputs} |"


def _described(array: np.ndarray) -> str:
    return f"{' × '.join(map(str, array.shape)) or 'one'} {array.dtype}"


def _processor_time(pipeline: Any) -> float:
    start, runs = time.process_time(), 0
    while time.process_time() - start < 0.12:
        pipeline.run()
        runs += 1
    return (time.process_time() - start) / (runs * BATCH)


if __name__ == "__main__":
    if sys.argv[1] == "cost":
        for line in costs(sys.argv[2:]):
            print(line, flush=True)
        sys.exit()
    serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
