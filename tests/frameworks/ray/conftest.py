"""A pipeline with random operators over real files, and Ray on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import ray
from PIL import Image

from dali_lab import Pipeline, fn

os.environ.setdefault("RAY_worker_niceness", "0")  # tasks would wait for all else that a busy machine does
os.environ.setdefault("RAY_local_fs_capacity_threshold", "1")  # Ray stops to spill on a disk that is 95 % full

T = TypeVar("T")

FILES = 50
BATCH = 8
EPOCH = 7  # batches


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Fifty pictures of different sizes."""
    folder = tmp_path_factory.mktemp("pictures")
    numbers = np.random.default_rng(0)
    paths = []
    for index in range(FILES):
        height, width = numbers.integers(40, 90, 2)
        small = Image.fromarray(numbers.integers(0, 255, (6, 6, 3), dtype=np.uint8))
        path: Path = folder / f"{index:03d}.jpg"
        small.resize((int(width), int(height))).save(path)
        paths.append(str(path))
    return paths


def make_pipeline(files: list[str], **settings: object) -> Pipeline:
    """Shuffled files, decoded, cropped and flipped at random; outputs of one shape, of their own shapes, and labels."""
    pipeline = Pipeline(**{"batch_size": BATCH, "num_threads": 1, "seed": 5, **settings})
    with pipeline:
        encoded, labels = fn.readers.file(
            files=files, random_shuffle=True, initial_fill=16, pad_last_batch=True, name="Reader"
        )
        decoded = fn.decoders.image(encoded, name="decoded")
        cropped = fn.random_resized_crop(decoded, size=(32, 32), name="cropped")
        flipped = fn.flip(cropped, horizontal=fn.random.coin_flip(name="coin"), name="flipped")
        small = fn.resize(decoded, resize_x=fn.random.uniform(range=(10, 20), name="width"), name="small")
        pipeline.set_outputs(flipped, labels, small)
    return pipeline


@pytest.fixture
def make(pictures: list[str]) -> Callable[..., Pipeline]:
    """Makes the pipeline; arguments are those of :class:`Pipeline`."""
    return lambda **settings: make_pipeline(pictures, **settings)


def batches_of(pipeline: Pipeline, count: int) -> list[dict[str, list[np.ndarray]]]:
    """The first batches of ``Pipeline.run``, as lists of samples by column."""
    names = ("flipped", "labels", "small")
    runs = (pipeline.run() for _ in range(count))
    return [
        {name: [np.array(output.at(i)) for i in range(len(output))] for name, output in zip(names, run, strict=True)}
        for run in runs
    ]


@pytest.fixture(scope="session")
def expected(pictures: list[str]) -> list[dict[str, list[np.ndarray]]]:
    """The batches of two epochs, by ``Pipeline.run``."""
    pipeline = make_pipeline(pictures)
    found = batches_of(pipeline, 2 * EPOCH)
    pipeline.close()
    return found


@pytest.fixture(scope="module", autouse=True)
def handlers_restored() -> Iterator[None]:
    """Put back the handlers of signals, which Ray replaces and keeps in some cases."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def patiently(start: Callable[[], T]) -> T:
    """What a function gives that starts processes of Ray; once more where Ray gives up since the machine is busy."""
    for _ in range(5):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    pytest.fail("Ray does not start")


def start_ray(**options: Any) -> None:
    """Start Ray on this machine."""

    def start() -> None:
        ray.shutdown()  # parts of an attempt before
        # Without an address, it takes a cluster of somebody else on this machine.
        ray.init(address="local", include_dashboard=False, logging_level="warning", **options)

    patiently(start)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """Ray with two CPUs."""
    start_ray(num_cpus=2, object_store_memory=300_000_000)
    yield
    ray.shutdown()


def check_batch(batch: dict[str, object], expected: dict[str, list[np.ndarray]], rows: int | None = None) -> None:
    """Compare a batch, or its first rows, sample by sample."""
    assert set(batch) == set(expected)
    for name, samples in expected.items():
        found = list(batch[name])  # type: ignore[call-overload]
        assert len(found) == (len(samples) if rows is None else rows)
        for one, other in zip(found, samples, strict=False):
            np.testing.assert_array_equal(np.asarray(one), other, err_msg=name)
