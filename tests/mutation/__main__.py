"""Changes functions in small ways, and tells which changes no test notices.

``python -m tests.mutation dali_lab/graph --sample 100`` tries a random hundred of all changes. The tests are imported
once; each mutant is a forked process that runs the tests which run the changed line, quick ones first. What survives
is a test that is missing or a change without effect: `survivors.md` says which of those that were looked at.
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
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import coverage
import pytest

from tests.mutation.mutants import Mutant, mutants

_PIPELINES = [
    f"tests/unit/pipeline/test_{name}.py"
    for name in (
        "pipeline", "conditionals", "conditional_errors", "conditional_functions", "checkpoints", "debug_mode",
        "external_source", "python_function", "shared_work", "chunk_notes",
    )
]  # fmt: skip
_FORMATS = [f"tests/unit/formats/test_{name}.py" for name in ("json_file", "dot", "formats", "dali_proto")]
TESTS = {
    "dali_lab/graph": [
        "tests/unit/graph", "tests/unit/expressions", *_PIPELINES, *_FORMATS, "tests/unit/test_ops.py",
        "tests/unit/test_cli.py", "tests/unit/random/test_seeds.py",
    ],
    "dali_lab/executor": [
        "tests/unit/executor", "tests/unit/graph", *_PIPELINES, "tests/unit/batch", "tests/unit/random/test_seeds.py",
    ],
}  # fmt: skip
"""The tests that are run for a folder; others reach it too, and take longer."""
LEAST_LIMIT = 60.0
"""Seconds after which a mutant that has not ended is taken for one that hangs."""
MOST_SECONDS = 30.0
"""Of tests for a mutant, quick ones first."""
QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=0", "--no-header", "-n", "0"]
Lines = dict[str, list[tuple[float, str]]]
"""By file and line, the tests that run it with their seconds, quick ones first."""


class Recorder:
    """A plugin of pytest that notes which lines of a folder each test runs, in any thread."""

    def __init__(self, folder: str) -> None:
        self._coverage = coverage.Coverage(data_file=None, source=[folder], config_file=False)
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = time.perf_counter()
        self._coverage.start()
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.stop()
            self._seconds[item.nodeid] = time.perf_counter() - began

    def lines(self) -> Lines:
        """Lines by ``file:line``."""
        data = self._coverage.get_data()
        return {
            f"{file}:{line}": sorted((self._seconds[test], test) for test in contexts if test)
            for file in data.measured_files()
            for line, contexts in data.contexts_by_lineno(file).items()
        }


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


def record(folder: str, tests: list[str]) -> Lines:
    """Which tests run which lines."""
    with tempfile.NamedTemporaryFile() as file:

        def work() -> int:
            recorder = Recorder(folder)
            status = pytest.main([*QUIET, *tests], plugins=[recorder])
            Path(file.name).write_text(json.dumps(recorder.lines()))
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


def outcome(mutant: Mutant, lines: Lines, root: Path) -> str:
    """The outcome of the tests for a mutant: ``killed``, ``survived``, ``not run`` or ``out of reach``."""
    tests = lines.get(f"{mutant.file}:{mutant.line}", [])
    if not tests:
        return "not run"
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
    return {0: "survived", 71: "out of reach"}.get(-1 if status is None else status, "killed")


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
    with Path(os.devnull).open("w") as silence, contextlib.redirect_stdout(silence):
        pytest.main([*QUIET, "--collect-only", *tests])
    gc.freeze()
    lines = record(str(root / options.folder), tests)
    counts: dict[str, int] = {}
    for number, mutant in enumerate(sorted(chosen, key=lambda each: (each.file, each.line))):
        kind = outcome(mutant, lines, root)
        counts[kind] = counts.get(kind, 0) + 1
        if kind != "killed":
            where = f"{mutant.file.relative_to(root)}:{mutant.line}"
            say(f"{number + 1}/{len(chosen)} {kind}: {where} {mutant.function}: {mutant.change}")
    say(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
