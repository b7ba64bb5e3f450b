"""Flags and changes wake everybody who waits, and Ctrl-C leaves neither them nor what runs undisturbed half done."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from dali_lab.model.waiting import Changes, Flag, undisturbed
from tests.programs import LIMIT


def test_a_flag_wakes_all_who_wait_and_lets_later_ones_pass() -> None:
    flag = Flag()
    assert not flag.is_set() and not flag.wait(0.01)
    woken = []
    waiting = [threading.Thread(target=lambda: woken.append(flag.wait(LIMIT))) for _ in range(5)]
    for thread in waiting:
        thread.start()
    flag.set()
    flag.set()
    for thread in waiting:
        thread.join()
    assert woken == [True] * 5 and flag.wait() and flag.is_set()


def test_a_state_is_waited_for_until_it_holds() -> None:
    changes, state = Changes(), list[int]()

    def change() -> None:
        for value in range(3):
            state.append(value)
            changes.tell()

    thread = threading.Thread(target=change)
    thread.start()
    changes.wait_until(lambda: len(state) == 3)
    thread.join()


def test_what_runs_undisturbed_is_done_when_its_caller_is_interrupted() -> None:
    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    done = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        done.append(threading.current_thread())

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) == 1 and done[0] is not threading.main_thread()


def test_an_error_of_what_runs_undisturbed_is_the_callers() -> None:
    def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        undisturbed(fail)
