"""Speed of a graph in this engine and in NVIDIA DALI: each measurement in a fresh process."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dali_lab.formats.exported import CACHING
from dali_lab.model.errors import DaliLabError
from dali_lab.model.subprocesses import environment, own_module
from dali_lab.model.system import peak_memory

if TYPE_CHECKING:
    from dali_lab.pipeline.pipeline import Pipeline

OURS, CACHED, DALI = "dali_lab", "dali_lab with a cache", "nvidia.dali"
Tell = Callable[[float, float], None]
Json = dict[str, Any]


class BenchmarkError(DaliLabError):
    """An engine cannot run the graph."""


class Benchmark:
    """One pipeline, ready to be measured in other processes.

    Parameters
    ----------
    pipeline
        It gives the graph and its settings, and is not run itself.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dali-lab-bench-")
        self._settings = {
            "batch_size": pipeline.max_batch_size,
            "num_threads": pipeline.num_threads,
            "seed": pipeline.seed,
        }
        own = pipeline._settings
        cache = {name: getattr(own, name) for name in CACHING}
        self._cache = {} if own.cache == "off" else {name: value for name, value in cache.items() if value is not None}
        self._ours = Path(self._folder.name) / "graph.dali.json"
        self._theirs = Path(self._folder.name) / "graph.dali"
        self._graph = pipeline.graph
        from dali_lab.formats import dump

        dump(self._graph, self._ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    @property
    def has_cache(self) -> bool:
        """Whether the pipeline has a cache, with which it can be measured too."""
        return bool(self._cache)

    def has_dali(self) -> bool:
        """Whether NVIDIA DALI is installed."""
        from importlib.util import find_spec

        try:
            return find_spec("nvidia.dali") is not None
        except ModuleNotFoundError:
            return False

    def measure(self, engine: str, seconds: float, tell: Tell | None = None) -> Json:
        """Run the graph in a fresh process.

        Parameters
        ----------
        engine
            :data:`OURS`, :data:`CACHED` or :data:`DALI`.
        seconds
            Duration, after batches that do not count.
        tell
            Called with the share that is done and the rate so far, as it goes.

        Returns
        -------
        dict
            ``rate`` in samples a second, ``cpu`` in microseconds of CPU time a sample, ``memory`` in MiB at its peak;
            for ours also ``nodes`` with ``time_ms`` of each node; with a cache ``kept`` samples, ``nbytes`` of one and
            ``samples`` of an epoch.

        Raises
        ------
        BenchmarkError
            With the engine's own words, if it cannot run the graph.
        """
        settings = {**self._settings, **(self._cache if engine == CACHED else {})}
        return self._child([engine, str(self._file(engine)), json.dumps(settings), str(seconds)], tell)

    def compare(self) -> list[str]:
        """Run the first batch in both engines; for each output how it compares, in words.

        Raises
        ------
        BenchmarkError
            If one of them cannot run the graph.
        """
        files = [str(self._file(engine)) for engine in (OURS, DALI)]
        return list(self._child(["compare", *files, json.dumps(self._settings)], None)["outputs"])

    def _file(self, engine: str) -> Path:
        if engine == DALI and not self._theirs.exists():
            from dali_lab.formats import dump

            dump(self._graph, self._theirs, "dali-serialized")
        return self._theirs if engine == DALI else self._ours

    @staticmethod
    def _child(arguments: list[str], tell: Tell | None) -> Json:
        command = own_module("dali_lab.cli.benchmark", *arguments)
        # Stand-ins for kernels that are still being compiled are not to be measured.
        variables = {**environment(), "DALI_LAB_COMPILE": "at-once"}
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=pipe, stderr=nowhere, text=True, env=variables)
        answer: Json = {}
        try:
            assert process.stdout is not None
            for line in process.stdout:
                answer = json.loads(line) if line.startswith("{") else answer
                if tell is not None and "share" in answer:
                    tell(answer["share"], answer["rate"])
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if "error" in answer:
            raise BenchmarkError(answer["error"])
        if not answer or "share" in answer:
            raise BenchmarkError("the process that measured ended early")
        return answer


def _pipeline(engine: str, path: str, settings: Json) -> Any:
    """The graph's pipeline in an engine, built."""
    if engine != DALI:
        from dali_lab.formats import load
        from dali_lab.pipeline.pipeline import Pipeline

        pipeline: Any = Pipeline.from_graph(load(path), **settings, enable_checkpointing=engine == CACHED)
    else:
        from importlib import import_module

        their: Any = import_module("nvidia.dali")
        known = {name: value for name, value in settings.items() if value is not None}
        pipeline = their.Pipeline.deserialize(filename=path, device_id=None, **known)
    pipeline.build()
    return pipeline


def _measure(engine: str, path: str, settings: Json, seconds: float) -> Json:
    from msgspec import structs

    from dali_lab.studio.measuring import measure

    pipeline = _pipeline(engine, path, settings)
    if engine == CACHED:
        return _measure_cached(pipeline, seconds)
    for _ in range(3):
        _next(pipeline)
    used, began, told = time.process_time(), time.perf_counter(), 0.0
    if engine == OURS:
        last = began

        def tell(done: int, rate: float) -> bool:
            nonlocal last
            now = time.perf_counter()
            if now - last > 0.1:
                last = now
                _say({"share": min(1.0, (now - began) / seconds), "rate": rate})
            return now - began >= seconds

        result = measure(pipeline, None, tell)
        samples, rate = result.samples, result.images_per_second
        nodes = {name: structs.asdict(node) for name, node in result.nodes.items()}
    else:
        samples, nodes = 0, {}
        while True:
            samples += len(_next(pipeline)[0])
            spent = time.perf_counter() - began
            if spent - told > 0.1:
                told = spent
                _say({"share": min(1.0, spent / seconds), "rate": samples / spent})
            if spent >= seconds:
                break
        rate = samples / spent
    cpu = 1e6 * (time.process_time() - used) / max(samples, 1)
    return {"rate": rate, "cpu": cpu, "memory": peak_memory() / 2**20, "nodes": nodes}


def _measure_cached(pipeline: Any, seconds: float) -> Json:
    from dali_lab.studio.measuring import measure_cache

    used: list[float] = []
    last = 0

    def tell(done: int, rate: float) -> None:
        nonlocal last
        if done < last or not used:
            used.append(time.process_time())  # a run begins; the last one to begin is that which counts
        last = done
        _say({"share": 0.5, "rate": rate})

    gain = measure_cache(pipeline, seconds / 2, tell)
    samples = max(1, gain.measured.samples)
    cpu = 1e6 * (time.process_time() - used[-1]) / samples
    found = {"kept": gain.kept, "nbytes": gain.nbytes, "samples": gain.samples}
    return {"rate": gain.measured.images_per_second, "cpu": cpu, "memory": peak_memory() / 2**20, "nodes": {}, **found}


def _next(pipeline: Any) -> Any:
    """The next batch, over the end of an epoch."""
    try:
        return pipeline.run()
    except StopIteration:
        pipeline.reset()
        return pipeline.run()


def _compare(ours: str, theirs: str, settings: Json) -> Json:
    import numpy as np

    found = [_next(_pipeline(engine, path, settings)) for engine, path in ((OURS, ours), (DALI, theirs))]
    words = []
    for left, right in zip(*found, strict=True):
        largest, text = 0.0, ""
        for sample in range(len(left)):
            a, b = (np.array(side.as_cpu().at(sample)) for side in (left, right))
            if a.shape != b.shape or a.dtype != b.dtype:
                text = f"sample {sample} is {a.dtype}{list(a.shape)} here and {b.dtype}{list(b.shape)} there"
                break
            same = (a == b) | ((a != a) & (b != b))
            difference = np.where(same, 0.0, np.abs(a.astype(np.float64) - b.astype(np.float64)))
            largest = max(largest, float(difference.max(initial=0.0)))
        words.append(text or (f"differs by at most {largest:.3g}" if largest else "is equal"))
    return {"outputs": words}


def _say(message: Json) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("rest", nargs="+")
    options = parser.parse_args()
    try:
        if options.what == "compare":
            _say(_compare(options.rest[0], options.rest[1], json.loads(options.rest[2])))
        else:
            path, settings, seconds = options.rest
            _say(_measure(options.what, path, json.loads(settings), float(seconds)))
    except Exception as error:  # told to the process that asked
        words = str(error).strip()
        # Ours name the file in a line of its own; NVIDIA DALI's go on with where in its code it was.
        _say({"error": (words if isinstance(error, DaliLabError) else words.split("\n")[0]) or type(error).__name__})
    # Work that the engines' threads still do is not waited for.
    os._exit(0)


if __name__ == "__main__":
    _main()
