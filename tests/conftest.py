"""Distributes tests among workers, limits their processor time, and sees that they leave the process as it was."""

from __future__ import annotations

import asyncio
import collections
import gc
import os
import signal
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

# The suite tries the same examples each time; DALI_LAB_EXAMPLES=random looks for others.
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same" if os.environ.get("DALI_LAB_EXAMPLES") != "random" else "default")

# Which of two ways is taken must not depend on what the cache holds; those that look into that say otherwise.
os.environ.setdefault("DALI_LAB_COMPILE", "at-once")

_BY_FAMILY = ("tests/conformance/test_operators.py", "tests/frameworks/cuda/test_emulated.py")
"""Files that have a test of each operator."""

PROCESSOR_SECONDS = 90.0
"""The most processor time of a test, with the programs that it waits for: more than twice that of the longest one.

Unlike time by the clock it hardly depends on what else the machine does. A test that needs more has to become smaller.
"""
_spent: collections.Counter[str] = collections.Counter()


# The garbage collector runs seldom: a tenth of the time of compiling kernels would be its, as of collecting tests.
gc.set_threshold(100_000, 50, 100)


def pytest_collection_finish() -> None:
    """Have the garbage collector leave out the thousands of tests."""
    gc.collect()
    gc.freeze()


def _processor_time() -> float:
    """Seconds of this process, and of the processes that it started and waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed with too much processor time; its fixtures, which tests may share, are left out."""
    before = _processor_time()
    result = yield
    used = _processor_time() - before
    item.user_properties.append(("processor seconds", used))
    if used > PROCESSOR_SECONDS:
        pytest.fail(f"took {used:.0f} s of processor time; {PROCESSOR_SECONDS:g} s is the most (tests/conftest.py)")
    return result


_VARIABLES = {*os.environ} - {"PYTEST_CURRENT_TEST"}


def _group(nodeid: str) -> str:
    """The tests that share fixtures: a file, or all tests in browsers."""
    return "browser" if nodeid.startswith("tests/frameworks/browser/") else nodeid.partition("::")[0]


def _state() -> dict[str, object]:
    """State of the process that tests of other files would meet, by what a failure calls it.

    Libraries that a test imports may add variables, importers and folders of theirs.
    """
    recorder = sys.modules.get("dali_lab.graph.recorder")
    usual = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    handlers = {number.name: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    variables = [name for name in os.environ if name in _VARIABLES or name.startswith("DALI_LAB_")]
    return {
        **{f"${name}": os.environ[name] for name in variables},
        **{f"the handler of {name}": handler for name, handler in handlers.items() if handler not in usual},
        "the working directory": os.getcwd(),
        "sys.path": [folder for folder in sys.path if "site-packages" not in folder],
        "sys.meta_path": [each for each in sys.meta_path if type(each).__module__.startswith("dali_lab")],
        "the running event loop": asyncio._get_running_loop(),
        "the current pipeline": recorder and recorder.Recorder.current(),
        "the switch of the garbage collector": gc.isenabled(),
        "sys.getswitchinterval()": sys.getswitchinterval(),
    }


_before: dict[str, object] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note the state of the process before the first test of a file."""
    if not _before:
        _before.update(_state())
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """Fail the last test of a file that leaves the process in another state: tests may run in any order."""
    result = yield
    if nextitem is None or _group(nextitem.nodeid) != _group(item.nodeid):
        before, after = dict(_before), _state()
        _before.clear()
        left = [name for name in before | after if before.get(name) != after.get(name)]
        if left:
            pytest.fail(f"the tests of {_group(item.nodeid)} do not restore: {', '.join(left)}")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what the tests of a file took, where the reports of all workers arrive."""
    if report.when == "call":
        _spent[report.nodeid.partition("::")[0]] += dict(report.user_properties).get("processor seconds", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the files whose tests took the most, in a run of minutes."""
    total = sum(_spent.values())
    if total > 60:
        terminalreporter.section(f"{total:.0f} s of processor time in tests, by file")
        for file, seconds in _spent.most_common(15):
            terminalreporter.write_line(f"{seconds:6.1f} s  {file}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup``, tests that compile the same kernels or share fixtures run in one worker.

    A group is a file, or a family of operators where a file has many tests of each: their kernels are compiled from the
    same parts.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

    from dali_lab.schema import all_operators

    families = {name: f"operators: {operator.family}" for name, operator in all_operators().items()}

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            operator = nodeid.partition("[")[2].rstrip("]")
            return families.get(operator, file) if file in _BY_FAMILY else file

        def _reschedule(self, node: WorkerController) -> None:
            """Send groups until three tests wait: a worker begins its last one only when told that no more comes."""
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) <= 2:
                super()._reschedule(node)

        def remove_node(self, node: WorkerController) -> str | None:
            """Go on after the test in which a worker ended, which pytest-xdist 3.8 would run again and again."""
            for unit in self.assigned_work[node].values():
                for test, done in unit.items():
                    if not done:
                        unit[test] = True
                        super().remove_node(node)
                        return test
            return super().remove_node(node)

    # The order of collection begins with the longest groups, those of conformance.
    config.option.loadscopereorder = False
    return Scheduling(config, log)
