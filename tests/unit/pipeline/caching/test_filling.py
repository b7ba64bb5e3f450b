"""A cache that is filled: the same batches whatever is kept, and no more time than is given or soon made up for."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dali_lab import fn, types
from dali_lab.executor.caching import filling as filling_module
from dali_lab.executor.caching.filling import SHARE, Filling, RecentCost, Way
from dali_lab.executor.caching.written_store import WrittenStore
from tests.unit.pipeline.caching.graphs import (
    assert_same,
    augmented,
    kept,
    make,
    of_two_readers,
    read,
    taken,
    trained,
    validated,
)


def of_two_views(root: Path) -> Any:
    """The kept result is an output too, and its consumers tell each other of all samples."""
    encoded, labels = read(root)
    images = fn.decoders.image(encoded)
    views = [fn.random_resized_crop(images, size=(16, 16)) for _ in range(2)]
    return *views, images, fn.cat(labels, labels), fn.coord_flip(fn.cast(images[0:2, 0:2, 0], dtype=types.FLOAT))


@pytest.mark.parametrize("define", [validated, trained, augmented, of_two_readers, of_two_views])
def test_same_batches_by_any_way(
    define: Callable[[Path], Any], root: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = itertools.cycle([Way.PLAIN, Way.KEPT, Way.FOUND, Way.KEPT, Way.PLAIN, Way.FOUND, Way.FOUND])
    asked = itertools.count()
    monkeypatch.setattr(Filling, "choose", lambda self, *arguments: next(ways))
    monkeypatch.setattr(Filling, "leaves_alone", lambda self, samples, held: next(asked) % 5 == 4)
    expected = taken(make(define, root))
    pipeline = make(define, root, cache=cache, num_threads=3)
    assert_same(taken(pipeline), expected)
    assert next(asked) > 9
    assert kept(pipeline) > 0
    pipeline.close()


def run(
    filling: Filling, samples: int, epochs: int, plain: float, kept: float, found: float, idle: float = 0.0
) -> list[tuple[float, int]]:
    """Epochs of chunks of ten samples with these costs: the time of each, and what the cache holds after it.

    After each chunk, threads wait for `idle` of the time that it takes without a cache.
    """
    there = [False] * samples
    rng = np.random.default_rng(3)
    results = []
    for _ in range(epochs):
        spent = 0.0
        for chunk in rng.permutation(samples).reshape(-1, 10):
            filling.left(10 * idle * plain)
            if filling.leaves_alone(10, sum(there)):
                way, looking = Way.PLAIN, 0.0
            else:
                way, looking = filling.choose(10, sum(there[i] for i in chunk), True, 1e-5), 1e-5
            hits = sum(there[i] for i in chunk)
            cost = 10 * plain if way is Way.PLAIN else hits * found + (10 - hits) * kept
            spent += cost + looking
            if way is Way.PLAIN:
                filling.computed(10, cost)
            elif hits == 10:
                filling.found(10, cost)
            elif not hits:
                filling.kept(10, cost, 10 * found, 0.0)
            if way is Way.KEPT:
                for i in chunk:
                    there[i] = True
        results.append((spent, sum(there)))
    return results


@pytest.mark.parametrize(("kept", "found"), [(1.04, 0.1), (1.25, 0.1), (1.9, 0.5), (3.0, 0.9), (1.5, 1.2)])
def test_no_epoch_takes_much_longer(kept: float, found: float) -> None:
    plain, kept, found = 1e-3, 1e-3 * kept, 1e-3 * found
    epochs = run(Filling(samples=lambda: 2000), 2000, 60, plain, kept, found)
    measured = 64 * (kept - plain)
    assert all(spent <= 2000 * plain * (1 + SHARE) + measured for spent, _ in epochs)
    held = [held for _, held in epochs]
    if found > plain:
        assert held[-1] < 2000 * 0.1, "what does not pay is not kept"
    else:
        assert held[-1] > 0.95 * 2000, "in the end all is kept"
        assert epochs[-1][0] < 2000 * (found + 0.15 * plain)
    if kept < plain * (1 + SHARE):
        assert held[0] > 0.9 * 2000, "what takes so little is kept at once"


@pytest.mark.parametrize(("kept", "found"), [(1.25, 0.1), (1.9, 0.5), (3.0, 0.9)])
def test_idle_processors_fill_at_once(kept: float, found: float) -> None:
    """Where threads wait for longer than keeping takes, the first epoch keeps all; for half of it, half."""
    plain = 1e-3
    for part, least, most in ((1.1, 0.9, 1.0), (0.5, 0.45, 0.8)):
        filling = Filling(samples=lambda: 2000)
        epochs = run(filling, 2000, 1, plain, plain * kept, plain * found, part * (kept - 1.0))
        assert least * 2000 < epochs[0][1] <= most * 2000


def test_a_long_pause_is_not_spent_later() -> None:
    filling = Filling(samples=lambda: 10_000)
    filling.left(3600.0)
    (spent, held), *_ = run(filling, 10_000, 1, 1e-3, 2e-3, 1e-4)
    assert spent < 10_000 * 1e-3 * (1 + SHARE) + 0.6
    assert 500 < held < 1500


def test_idle_time_is_that_of_threads_and_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait leave nothing where others use the processors; nor do idle ones where all threads work."""
    waited, idle, now = [0.0], [100.0], [0.0]
    monkeypatch.setattr(filling_module, "idle_seconds", lambda: idle[0])
    monkeypatch.setattr(filling_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    left = filling_module.IdleTime(lambda: waited[0])

    def after(threads: float, processors: float, seconds: float = 1.0) -> float:
        waited[0], idle[0], now[0] = waited[0] + threads, idle[0] + processors, now[0] + seconds
        return left.seconds()

    assert after(0.5, 1.5) == 0.5
    assert after(1.5, 0.25) == 0.25
    assert after(1.0, 0.0) == 0.0
    assert after(0.0, 1.0) == 0.0
    assert after(0.25, 0.25, 0.01) == 0.0, "a moment later nobody is asked"
    assert after(0.25, 0.5) == 0.5


def test_epochs_that_are_left() -> None:
    """A sample that costs 0.9 once and gives 0.5 an epoch is kept where many epochs follow, not where one does."""
    for epochs, least, most in ((1, 0, 0), (2, 0, 100), (40, 1000, 2000)):
        held = run(Filling(epochs, lambda: 2000), 2000, epochs, 1e-3, 1.9e-3, 0.5e-3, idle=1.0)[-1][1]
        assert least <= held <= most


def test_new_samples_beside_a_full_cache() -> None:
    """A run that finds everything owes nothing: what is new after that is kept as soon as its cost is known."""
    filling = Filling(samples=lambda: 2000)
    for _ in range(200):
        assert filling.choose(10, 10, True, 0.01) is Way.FOUND
        filling.found(10, 1.0)
    ways = []
    for _ in range(20):
        ways.append(filling.choose(10, 0, True, 0.01))
        if ways[-1] is Way.KEPT:
            filling.kept(10, 10.4, 1.0, 0.0)
        else:
            filling.computed(10, 10.0)
    assert ways.count(Way.KEPT) > 10


def test_one_epoch_keeps_nothing(root: Path) -> None:
    pipeline = make(validated, root, cache="memory", cache_epochs=1)
    assert_same(taken(pipeline, 2), taken(make(validated, root), 2))
    assert kept(pipeline) == 0
    pipeline.close()


def test_first_chunks_tell_little() -> None:
    """Small chunks, and those that load kernels, do not decide what is kept: all is once the others are known."""
    filling = Filling(samples=lambda: 2000)
    for _ in range(6):
        assert filling.choose(2, 0, True, 0.0) is Way.KEPT
        filling.kept(2, 2 * 40e-3, 2 * 2e-3, 0.0)
    ways = []
    for _ in range(80):
        filling.left(16 * 0.1e-3)
        ways.append(filling.choose(16, 0, True, 0.0))
        if ways[-1] is Way.KEPT:
            filling.kept(16, 16 * 1.1e-3, 16 * 0.1e-3, 0.0)
        else:
            filling.computed(16, 16 * 1e-3)
    assert ways[16:].count(Way.KEPT) > 50


def test_a_disturbed_beginning() -> None:
    """Costs that were measured wrongly at first are measured again later."""
    filling = Filling(samples=lambda: 100_000)
    there = 0
    for chunk in range(2000):
        way = filling.choose(16, 0, True, 0.0)
        there += 16 if way is Way.KEPT else 0
        if way is Way.KEPT:
            disturbed = 4.0 if chunk < 10 else 1.0
            filling.kept(16, 16 * 1.2 * disturbed, 16 * 0.3 * disturbed, 0.0)
        else:
            filling.computed(16, 16 * 1.0)
    assert there > 2000 * 16 * SHARE / 0.2 * 0.8


def test_costs_of_writing_are_the_writers_own(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that compute read a number: a list that the writer extends meanwhile would end the run with an error."""
    asked: list[tuple[RecentCost, str]] = []
    seconds = RecentCost.seconds.fget
    assert seconds is not None

    def noted(cost: RecentCost) -> float:
        asked.append((cost, threading.current_thread().name))
        return seconds(cost)

    monkeypatch.setattr(RecentCost, "seconds", property(noted))
    pipeline = make(validated, root, cache=str(tmp_path / "cache"), num_threads=3)
    taken(pipeline)
    steps = pipeline._runner.kept
    assert steps is not None and isinstance(steps.store, WrittenStore)
    steps.store.flush()
    names = {name for cost, name in asked if cost is steps.store._cost}
    assert names == {"dali-lab-cache"}
    assert steps.store.writing > 0
    pipeline.close()


def test_a_pipeline_tells_what_it_leaves(root: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(filling_module.IdleTime, "seconds", lambda self: 0.25)
    monkeypatch.setattr(Filling, "left", lambda self, seconds: told.append(seconds))
    pipeline = make(validated, root, cache=cache)
    assert_same(taken(pipeline), taken(make(validated, root)))
    pipeline.close()
    assert set(told) == {0.25}


def test_chunks_in_flight_are_not_kept_unmeasured() -> None:
    """Many chunks begin before the first one has told what keeping costs."""
    filling = Filling(samples=lambda: 100_000)
    ways = [filling.choose(16, 0, True, 0.0) for _ in range(40)]
    assert ways.count(Way.KEPT) == 3
