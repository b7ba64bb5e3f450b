"""Rates of a pipeline with and without Ray, in turn: ``python -m tests.benchmarks.ray_rates``, where Ray is installed.

Each run is a process of its own with two epochs over JPEG files of 500 pixels. It counts rows a second by the clock and
rows for each second of processor time of all processes, which a busy machine changes less. Ray's processes also take
time while they wait, by the clock and not by the row, so an epoch that other work makes longer seems to cost more. The
last number is an estimate without that: rows for each second of processor time if this work had the cores for itself.
With few files the start of an epoch weighs more than it does in a training. The kind ``alone`` computes nothing: its
processor time is Ray's own.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Self

import numpy as np

BATCH = 64


def files(root: str, count: int) -> list[str]:
    """As many paths as asked for, from the files that there are."""
    found = sorted(str(path) for path in Path(root).rglob("*.jpg"))
    return [found[index % len(found)] for index in range(count)]


def pipeline(root: str, count: int, threads: int) -> object:
    """Decoding with a random crop to 224 pixels, and a random flip."""
    from dali_lab import Pipeline, fn

    made = Pipeline(batch_size=BATCH, num_threads=threads, seed=1)
    with made:
        encoded, labels = fn.readers.file(
            files=files(root, count), random_shuffle=True, pad_last_batch=True, name="Reader"
        )
        images = fn.random_resized_crop(fn.decoders.image(encoded), size=(224, 224), name="images")
        made.set_outputs(fn.flip(images, horizontal=fn.random.coin_flip()), labels)
    return made


def without_ray(root: str, count: int, cores: int) -> Iterator[Iterator[int]]:
    """Two epochs of ``Pipeline.run``."""
    made = pipeline(root, count, cores)
    made.build()

    def epoch() -> Iterator[int]:
        for _ in range(count // BATCH):
            yield len(made.run()[0].as_array())

    for _ in range(2):
        yield epoch()


def with_ray(root: str, count: int, cores: int) -> Iterator[Iterator[int]]:
    """Two epochs of a dataset on Ray."""
    from dali_lab.plugin.ray import dataset, iterator

    start(cores)
    batches = iterator(dataset(pipeline(root, count, 1), columns=["images", "labels"]), tensors="numpy")
    for _ in range(2):
        yield (len(batch["images"]) for batch in batches)


def with_torchvision(root: str, count: int, cores: int) -> Iterator[Iterator[int]]:
    """The same work by Ray Data and torchvision's transforms, as their users write it."""
    import ray
    import ray.data

    start(cores)

    class Transform:
        def __init__(self) -> None:
            transforms = torchvision_transforms()
            self._transform = transforms.Compose(
                [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
            )

        def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            from PIL import Image

            pictures = (Image.open(str(path)).convert("RGB") for path in batch["item"])
            return {"images": np.stack([self._transform(picture).numpy() for picture in pictures])}

    for _ in range(2):
        data = ray.data.from_items(files(root, count)).map_batches(
            Transform, batch_size=BATCH, compute=ray.data.ActorPoolStrategy(size=cores)
        )
        yield (len(batch["images"]) for batch in data.iter_batches(batch_size=BATCH))


def ray_alone(root: str, count: int, cores: int) -> Iterator[Iterator[int]]:
    """Rows of the same size from tasks of Ray Data that compute nothing: what Ray itself costs."""
    import ray
    import ray.data

    start(cores)
    rows = 448  # as many as fit into 64 MiB
    blocks = 8
    tasks = max(1, count // (rows * blocks))
    ray.data.DataContext.get_current().target_max_block_size = 64 << 20

    def give(batch: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
        images = np.ones((rows, 224, 224, 3), np.uint8)
        for _ in range(blocks):
            yield {"images": images, "labels": np.zeros((rows, 1), np.int32)}

    ray.data.range(cores, override_num_blocks=cores).map_batches(lambda batch: batch).materialize()  # starts processes
    for _ in range(2):
        data = ray.data.range(tasks, override_num_blocks=tasks).map_batches(give, batch_size=1)
        yield (len(block) for block in data.iter_batches(batch_size=None, batch_format="pyarrow"))


def waiting(cores: int) -> float:
    """Processor time a second that Ray takes for an execution whose tasks only wait."""
    import ray
    import ray.data

    def wait(row: dict[str, float]) -> dict[str, float]:
        time.sleep(row["item"])
        return row

    tasks = ray.data.from_items([12.0] * cores, override_num_blocks=cores).map(wait)
    execution = threading.Thread(target=tasks.materialize)
    execution.start()
    time.sleep(4)  # what its start takes is no waiting
    with ProcessorTime() as used:
        began, before = time.perf_counter(), used.seconds()
        time.sleep(6)
        found = (used.seconds() - before) / (time.perf_counter() - began)
    execution.join()
    return found


def torchvision_transforms() -> ModuleType:
    """The transforms, which are plain Python, also where torchvision's library does not fit the build of torch."""
    import torch

    try:
        from torchvision import transforms
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float threshold) -> Tensor")
        from torchvision import transforms
    made: ModuleType = transforms
    return made


def start(cores: int) -> None:
    """Start Ray, and wait until its own processes have started: until they use little processor time."""
    import ray

    ray.init(address="local", num_cpus=cores, include_dashboard=False, logging_level="error")
    used = ProcessorTime()
    before = -1.0
    for _ in range(60):
        if used.seconds() - before < 0.1:
            break
        before = used.seconds()
        time.sleep(1)


class ProcessorTime:
    """Processor time of this process and of all that came from it, also of those that ended since, but for 0.1 s."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, float], float] = {}
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.seconds()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.seconds()

    def seconds(self) -> float:
        """The time until now."""
        import psutil

        me = psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self._used[process.pid, process.create_time()] = times.user + times.system
        return sum(self._used.values())


RUNS = {"local": without_ray, "ray": with_ray, "torchvision": with_torchvision, "alone": ray_alone}


def measure(kind: str, root: str, count: int, cores: int) -> None:
    """Print rows, seconds by the clock and seconds of processor time of both epochs, and of Ray while it waits."""
    epochs = []
    for epoch in RUNS[kind](root, count, cores):
        with ProcessorTime() as used:
            began, before = time.perf_counter(), used.seconds()
            rows = sum(epoch)
            epochs.append([rows, time.perf_counter() - began, used.seconds() - before])
    print(json.dumps([epochs, waiting(cores) if kind != "local" else 0.0]))


def shown(rows: int, clock: float, used: float, waits: float, cores: int) -> str:
    """The rates of an epoch."""
    alone = (used - waits * clock) / (1 - waits / cores)
    return f"{rows / clock:6.0f} rows/s {rows / used:6.0f} and {rows / alone:6.0f} rows/CPU s"


def main() -> None:
    """Measure all in turn, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--root", default="")
    parser.add_argument("--only", choices=RUNS)
    parser.add_argument("--kinds", nargs="+", default=list(RUNS))
    options = parser.parse_args()
    root = options.root
    if not root:
        from tests.benchmarks.data import folder

        root = str(folder("jpeg500"))
    if options.only:
        measure(options.only, root, options.rows, options.cores)
        return
    rates: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(options.rounds):
        for kind in options.kinds:
            command = [sys.executable, "-m", "tests.benchmarks.ray_rates", "--only", kind, "--root", root]
            done = subprocess.run(
                [*command, "--rows", str(options.rows), "--cores", str(options.cores)],
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            epochs, waits = json.loads(done.stdout.strip().splitlines()[-1])
            first, second = (shown(*epoch, waits, options.cores) for epoch in epochs)
            print(f"{kind:11} first {first}   second {second}   waiting {waits:.3f}", flush=True)
            rates.setdefault(kind, []).append(tuple(rows / clock for rows, clock, _ in epochs))
    for kind, other in itertools.combinations(rates, 2):
        first, second = np.median(rates[other], axis=0) / np.median(rates[kind], axis=0)
        print(f"{other} / {kind}, medians by the clock: first epoch {first:.2f}, second {second:.2f}")


if __name__ == "__main__":
    main()
