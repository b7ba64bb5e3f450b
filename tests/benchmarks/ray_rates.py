"""Rates of a pipeline with and without Ray, in turn: ``python -m tests.benchmarks.ray_rates``, where Ray is installed.

Each run is a process of its own with two epochs over JPEG files of 500 pixels. It counts rows a second by the clock and
rows for each second of processor time of all its processes, which a busy machine changes less. With another number of
files than fill some seconds, the start of an epoch weighs more than it does in a training.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
    import ray

    from dali_lab.plugin.ray import dataset, iterator

    ray.init(num_cpus=cores, include_dashboard=False, logging_level="error")
    batches = iterator(dataset(pipeline(root, count, 1), columns=["images", "labels"]), tensors="numpy")
    for _ in range(2):
        yield (len(batch["images"]) for batch in batches)
    ray.shutdown()


def with_pillow(root: str, count: int, cores: int) -> Iterator[Iterator[int]]:
    """The same work by Ray Data, as its users write it: Pillow for what torchvision's transforms do with it."""
    import ray
    import ray.data
    from PIL import Image

    ray.init(num_cpus=cores, include_dashboard=False, logging_level="error")

    def crop(row: dict[str, object]) -> dict[str, object]:
        image = Image.open(str(row["item"])).convert("RGB")
        width, height = image.size
        area = width * height * np.random.uniform(0.08, 1)
        ratio = np.exp(np.random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = min(width, round(np.sqrt(area * ratio))), min(height, round(np.sqrt(area / ratio)))
        left, top = np.random.randint(0, width - w + 1), np.random.randint(0, height - h + 1)
        small = image.resize((224, 224), Image.Resampling.BILINEAR, (left, top, left + w, top + h))
        if np.random.rand() < 0.5:
            small = small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return {"images": np.asarray(small)}

    for _ in range(2):
        data = ray.data.from_items(files(root, count)).map(crop)
        yield (len(batch["images"]) for batch in data.iter_batches(batch_size=BATCH))
    ray.shutdown()


def processor_seconds() -> float:
    """Processor time of this process and of all that came from it and live."""
    import psutil

    total = 0.0
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


RUNS = {"local": without_ray, "ray": with_ray, "pillow": with_pillow}


def measure(kind: str, root: str, count: int, cores: int) -> None:
    """Print rows a second, and rows for each second of processor time, of both epochs."""
    found = []
    for epoch in RUNS[kind](root, count, cores):
        began, used = time.perf_counter(), processor_seconds()
        rows = sum(epoch)
        found.append([rows / (time.perf_counter() - began), rows / (processor_seconds() - used)])
    print(json.dumps(found))


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
    for _ in range(options.rounds):
        for kind in options.kinds:
            command = [sys.executable, "-m", "tests.benchmarks.ray_rates", "--only", kind, "--root", root]
            done = subprocess.run(
                [*command, "--rows", str(options.rows), "--cores", str(options.cores)],
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            epochs = json.loads(done.stdout.strip().splitlines()[-1])
            shown = [f"{clock:7.0f} rows/s {used:7.0f} rows/CPU s" for clock, used in epochs]
            print(f"{kind:8} first {shown[0]}   second {shown[1]}", flush=True)


if __name__ == "__main__":
    main()
