"""Changes functions in small ways, and tells which changes no test notices.

``python -m tests.mutation dali_lab/graph --sample 100`` tries a random hundred of all changes. The tests are imported
once; each mutant is a forked process that runs the tests which call its function, quick ones first. What survives is
either a test that is missing or a change without effect: `survivors.md` says which.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import inspect
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutation.mutants import Mutant, mutants

TESTS = {
    "dali_lab/graph": ["tests/unit/graph", "tests/unit/pipeline", "tests/unit/expressions", "tests/unit/formats"],
    "dali_lab/executor": ["tests/unit/pipeline", "tests/unit/graph", "tests/unit/plugin", "tests/unit/batch"],
}
LEAST_LIMIT = 60.0
"""Seconds after which a mutant that has not ended is taken for one that hangs."""
MOST_SECONDS = 30.0
"""Of tests for a mutant, quick ones first."""
QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--no-header", "-n", "0"]
Calls = dict[str, list[tuple[float, str]]]
"""By file and function, the tests that call it with their seconds."""


class Recorder:
    """A plugin of pytest that notes which functions of some files each test calls, in any thread."""

    def __init__(self, files: set[str]) -> None:
        self.calls: Calls = {}
        self._files = files
        self._called: set[CodeType] = set()

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._called.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._called.clear()
        began = time.perf_counter()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            seconds = time.perf_counter() - began
            for code in self._called:
                if code.co_filename in self._files:
                    name = code.co_qualname.partition(".<locals>")[0]
                    self.calls.setdefault(f"{code.co_filename}:{name}", []).append((seconds, item.nodeid))


def in_child(work: Any, limit: float) -> int | None:
    """Run a function in a forked process in silence; its exit status, or `None` if it did not end in time."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.setsid()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            status = int(work())
        finally:
            os._exit(status)
    until = time.monotonic() + limit
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.01)


def record(files: set[str], tests: list[str]) -> Calls:
    """Which tests call which functions."""
    with tempfile.NamedTemporaryFile() as file:

        def work() -> int:
            recorder = Recorder(files)
            status = pytest.main([*QUIET, *tests], plugins=[recorder])
            Path(file.name).write_text(json.dumps(recorder.calls))
            return status

        status = in_child(work, 3600)
        assert status == 0, f"the tests do not pass as they are: {status}"
        return dict(json.loads(Path(file.name).read_text()))


def replace(mutant: Mutant, root: Path) -> None:
    """Have the function of a mutant run its code from now on."""
    relative = mutant.file.relative_to(root).with_suffix("")
    found: Any = importlib.import_module(".".join(relative.parts).removesuffix(".__init__"))
    for part in mutant.function.split("."):
        found = inspect.getattr_static(found, part)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or getattr(found, "func", None) or found
    found = inspect.unwrap(found)
    if not isinstance(found, FunctionType):
        raise LookupError(mutant.function)
    code = mutant.code()
    if code is None:
        raise LookupError(mutant.function)
    found.__code__ = code


def outcome(mutant: Mutant, calls: Calls, root: Path) -> str:
    """What the tests make of a mutant: ``killed``, ``survived``, ``uncalled`` or ``unreachable``."""
    tests = sorted(calls.get(f"{mutant.file}:{mutant.function}", []))
    if not tests:
        return "uncalled"
    total, chosen = 0.0, []
    for seconds, test in tests:
        total += seconds
        if chosen and total > MOST_SECONDS:
            break
        chosen.append(test)

    def work() -> int:
        try:
            replace(mutant, root)
        except (LookupError, AttributeError, ValueError, TypeError):
            return 71
        return pytest.main([*QUIET, *chosen])

    status = in_child(work, max(LEAST_LIMIT, 10 * total))
    return {0: "survived", 71: "unreachable"}.get(-1 if status is None else status, "killed")


def main() -> int:
    """Print each mutant that survives, and how many there were of each kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("folder", choices=TESTS, help="what is changed")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
    parser.add_argument("--file", action="append", help="only files of this name")
    parser.add_argument("--tests", nargs="+", help="tests to run instead of the usual ones")
    options = parser.parse_args()
    root = Path(__file__).parents[2]
    files = [
        file
        for file in sorted((root / options.folder).rglob("*.py"))
        if options.file is None or file.name in options.file
    ]
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    tests = options.tests or TESTS[options.folder]
    say = functools.partial(print, flush=True)
    say(f"{len(every)} mutants in {len(files)} files, {len(chosen)} of them tried")
    with contextlib.redirect_stdout(None):
        pytest.main([*QUIET, "--collect-only", *tests])
    gc.freeze()
    calls = record({str(file) for file in files}, tests)
    counts: dict[str, int] = {}
    for number, mutant in enumerate(sorted(chosen, key=lambda each: (each.file, each.line))):
        kind = outcome(mutant, calls, root)
        counts[kind] = counts.get(kind, 0) + 1
        if kind != "killed":
            where = f"{mutant.file.relative_to(root)}:{mutant.line}"
            say(f"{number + 1}/{len(chosen)} {kind}: {where} {mutant.function}: {mutant.change}")
    say(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
