# ruff: noqa: PT012  (what is raised comes out of loops)
"""Ctrl-C while a batch is waited for: the next call goes on with that batch."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from dali_lab import DaliLabError, Pipeline, fn
from tests.programs import LIMIT
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Hear Ctrl-C also where the tests do not: shells start what runs in the background so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _interrupt_in(function: str, ready: Callable[[], bool]) -> None:
    """Send Ctrl-C, from a thread of its own, once the main thread is in a function in which it then stays."""
    main = threading.main_thread().ident
    assert main is not None

    def work() -> None:
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            frames = traceback.walk_stack(sys._current_frames()[main])
            if ready() and any(frame.f_code.co_name == function for frame, _ in frames):
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.01)

    threading.Thread(target=work).start()


def _wait_for_file(path: Path) -> None:
    wait_until(path.exists, f"{path.name} is not made")


def _counting(held: Callable[[int], None] = lambda index: None, *, parallel: bool = False) -> Pipeline:
    """Batches 0, 1, 2, …, each beside its number from another source; `held` is called by the source's side."""

    def source(index: int) -> np.ndarray:
        if parallel:
            held(index)
        return np.full((2, 1), index)

    def see(sample: np.ndarray) -> np.ndarray:
        if not parallel:
            held(int(sample[0]))
        return sample

    pipeline = Pipeline(2, 1, None, py_num_workers=2)
    with pipeline:
        seen = fn.python_function(fn.external_source(source, parallel=parallel), function=see)
        pipeline.set_outputs(seen, fn.external_source(lambda index: np.full((2, 1), index)))
    return pipeline


def _numbers(outputs: Any) -> list[int]:
    return [int(output.at(0)[0]) for output in outputs]


@pytest.mark.parametrize("parallel", [False, True], ids=["engine", "workers"])
def test_the_batch_that_was_waited_for_is_not_lost(parallel: bool, tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    pipeline = _counting(lambda index: _wait_for_file(go_on) if index == 3 else None, parallel=parallel)
    batches: list[list[int]] = []
    if parallel:  # one batch more is kept ahead
        _interrupt_in("_ask", lambda: len(batches) == 2)
    else:
        _interrupt_in("take", lambda: len(batches) == 3)
    with pytest.raises(KeyboardInterrupt):
        while True:
            batches.append(_numbers(pipeline.run()))
    go_on.touch()
    batches += [_numbers(pipeline.run()) for _ in range(6 - len(batches))]
    pipeline.close()
    assert batches == [[index, index] for index in range(6)]


@pytest.mark.parametrize("parallel", [False, True], ids=["engine", "workers"])
def test_ctrl_c_at_any_moment_leaves_the_sources_in_step(parallel: bool) -> None:
    """Whatever it breaks off, no later batch mixes two, none is given twice, and nothing waits for ever."""
    pipeline = _counting(parallel=parallel)
    batches = [_numbers(pipeline.run())]
    rng = np.random.default_rng(0)
    ended = threading.Event()

    def raise_inside(number: int, frame: FrameType | None) -> None:
        if any(found.f_code is Pipeline.run.__code__ for found, _ in traceback.walk_stack(frame)):
            raise KeyboardInterrupt

    def press() -> None:
        while not ended.wait(rng.uniform(0, 0.01)):
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, raise_inside)  # put back by `heard`
    presses = threading.Thread(target=press)
    presses.start()
    interrupted, told = 0, list[str]()
    try:
        while interrupted < 40:
            try:
                batches.append(_numbers(pipeline.run()))
            except KeyboardInterrupt:
                interrupted += 1
            except DaliLabError as error:
                told.append(str(error))
    finally:
        ended.set()
        presses.join()
        pipeline.close()
    assert all("was interrupted while it gave this batch" in error for error in told)
    assert all(mine == other for mine, other in batches)
    assert (np.diff([mine for mine, _ in batches]) > 0).all()
