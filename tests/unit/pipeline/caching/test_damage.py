"""Damaged caches, full disks and killed processes: batches are those without a cache."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dali_lab.executor.caching import folder_store, written_store
from dali_lab.executor.caching.folder import parts
from tests.programs import LIMIT
from tests.unit.pipeline.caching.graphs import (
    COUNT,
    assert_same,
    fill,
    flip_bits,
    kept,
    make,
    taken,
    trained,
    validated,
)
from tests.waiting import wait_until


def zeros(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path: Path) -> None:
    path.write_bytes(np.random.default_rng(3).bytes(5000))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("ending", ["data", "index"])
@pytest.mark.parametrize("harm", [flip_bits, zeros, cut, garbage, emptied, Path.unlink])
def test_damage_heals(ending: str, harm: Callable[[Path], Any], root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = fill(root, cache)
    for path in cache.glob(f"*/*.{ending}"):
        harm(path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert_same(fill(root, cache), expected)
    assert len(told) <= 1, "told once"
    assert all("cache" in str(warning.message) for warning in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = make(validated, root, cache=str(cache))
        if ending == "data" or harm is Path.unlink:
            assert_same(taken(pipeline), expected)
            assert kept(pipeline) == COUNT
        pipeline.close()


def test_removed_while_in_use(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = fill(root, cache)
    pipeline = make(validated, root, cache=str(cache))
    assert_same(taken(pipeline, 4), expected[:4])
    shutil.rmtree(cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(taken(pipeline, 5), expected[4:])
        pipeline.close()


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.unit.pipeline.caching import graphs as cases
pipeline = cases.make(cases.trained, Path({root!r}), cache={cache!r})
"""


def program(root: Path, cache: Path, rest: str) -> list[str]:
    start = PROGRAM.format(tests=str(Path(__file__).parents[4]), root=str(root), cache=str(cache))
    return [sys.executable, "-c", start + textwrap.dedent(rest)]


def test_killed_while_filling(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = taken(make(trained, root))
    running = subprocess.Popen(program(root, cache, "while True: pipeline.run()"))
    try:
        # A folder may hold files at this moment that are gone the next; `Path.glob` raises then.
        wait_until(lambda: glob.glob(f"{cache}/*/*.data"), "nothing is kept")
    finally:
        running.kill()
        running.wait()
    for _ in range(2):
        assert_same(fill(root, cache, trained), expected)


def test_a_program_that_ends_without_closing(root: Path, tmp_path: Path) -> None:
    """Threads that read from the cache at that moment end without a word."""
    cache = tmp_path / "cache"
    fill(root, cache, trained)
    rest = """
    from dali_lab.executor.caching import folder_store, written_store
    written_store._PATIENCE = float("inf")
    read = folder_store.FolderStore._fetch
    def slowly(self, *arguments):
        import time
        time.sleep(0.05)
        return read(self, *arguments)
    folder_store.FolderStore._fetch = slowly
    for _ in range(4):
        pipeline.run()
    """
    done = subprocess.run(program(root, cache, rest), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_ends_while_samples_are_kept(root: Path, tmp_path: Path) -> None:
    """A thread that computes hands samples over while the interpreter ends: it leaves no writer that could not end."""
    first = """
    import atexit
    stores = []
    atexit.register(lambda: print(len(stores), {store._writer for store in stores}))
    """
    rest = """
    from dali_lab.executor.caching import written_store
    import threading, time
    put = written_store.WrittenStore.put
    begun = threading.Event()
    def later(self, *arguments):
        begun.set()
        while threading.main_thread().is_alive():
            time.sleep(0.01)
        put(self, *arguments)
        stores.append(self)
    written_store.WrittenStore.put = later
    pipeline.schedule_run()
    begun.wait()
    """
    *command, text = program(root, tmp_path / "cache", rest)
    command.append(textwrap.dedent(first) + text)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")
    count, writers = done.stdout.split(maxsplit=1)
    assert int(count) > 0 and writers == "{None}\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_ends_while_samples_are_written(root: Path, tmp_path: Path) -> None:
    """The child has no writer to wait for; the parent writes on."""
    rest = """
    from dali_lab.executor.caching import folder_store
    import os, sys, threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads, in newer versions of Python
    write = folder_store.FolderStore._write
    begun, forked = threading.Event(), threading.Event()
    def later(self, item):
        begun.set()
        forked.wait()
        write(self, item)
    folder_store.FolderStore._write = later
    pipeline.schedule_run()
    begun.wait()
    child = os.fork()
    if child == 0:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    forked.set()
    """
    done = subprocess.run(
        program(root, tmp_path / "cache", rest), capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "7\n")


def test_a_pipeline_that_is_dropped_by_the_writer(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector may run in the thread that writes: that does not wait for itself."""
    cache = tmp_path / "cache"
    pipeline = make(trained, root, cache=str(cache), cache_at="image_random_crop", prefetch_queue_depth=1)
    dropped = [pipeline]
    write = folder_store.FolderStore._write
    ended = threading.Event()

    def dropping(self: Any, item: Any) -> None:
        write(self, item)
        ready.wait()
        if dropped:
            dropped.pop()
            ended.set()

    ready = threading.Event()
    monkeypatch.setattr(folder_store.FolderStore, "_write", dropping)
    pipeline.run()
    del pipeline
    ready.set()
    assert ended.wait(LIMIT), "the writer waits for itself"
    assert not dropped


def test_a_slow_disk(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading that takes longer than the work is noticed and told once; the rest is computed."""
    cache = tmp_path / "cache"
    expected = fill(root, cache)
    read = folder_store.FolderStore._fetch
    reads, hours = 0, 0

    def slowly(*arguments: Any) -> Any:
        nonlocal reads, hours
        reads += 1
        hours += 1
        return read(*arguments)

    # However busy the machine is, the work has taken less than hours.
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + 3600 * hours, thread_time=time.thread_time)
    monkeypatch.setattr(written_store, "time", clock)
    monkeypatch.setattr(folder_store.FolderStore, "_fetch", slowly)
    monkeypatch.setattr(written_store, "_PATIENCE", 3600.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pipeline = make(validated, root, cache=str(cache), prefetch_queue_depth=1, num_threads=1)
        assert_same(taken(pipeline, 5), expected[:5])
        before = reads
        assert_same(taken(pipeline, 4), expected[5:])
        pipeline.close()
    assert reads == before, "it is left alone"
    assert len(told) == 1
    assert "longer than the work" in str(told[0].message)


def test_the_end_does_not_wait_for_a_slow_disk(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a slow disk has not taken when the pipeline is closed is kept in a later run."""
    cache = tmp_path / "cache"
    expected = taken(make(trained, root))
    begun, written, go = threading.Event(), threading.Event(), threading.Event()
    write, await_writer = folder_store.FolderStore._write, folder_store.FolderStore._await_writer

    def slowly(self: Any, item: Any) -> None:
        begun.set()
        go.wait()
        write(self, item)
        written.set()

    def awaited(self: Any, seconds: float | None = None) -> None:
        if seconds is None:  # the disk has had its last seconds
            go.set()
        await_writer(self, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(folder_store.FolderStore, "_write", slowly)
        patch.setattr(folder_store.FolderStore, "_await_writer", awaited)
        patch.setattr(written_store, "_LAST", 0.01)
        pipeline = make(trained, root, cache=str(cache), cache_at="image_random_crop")
        assert_same(taken(pipeline), expected)
        assert begun.wait(LIMIT)
        pipeline.close()
    assert written.is_set(), "what was being written is finished"
    (part,) = parts(cache)
    assert 0 < part.samples < COUNT
    assert_same(fill(root, cache, trained), expected)


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk(root: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: writing fails in the middle."""
    cache = tmp_path / "cache"
    done = subprocess.run(
        program(
            root,
            cache,
            """
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
            files = Path(pipeline.cache).parent / "files"
            cases.assert_same(cases.taken(pipeline), cases.taken(cases.make(cases.trained, files)))
            pipeline.close()
            """,
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning: nothing more is kept in the cache") == 1, done.stderr
    assert_same(fill(root, cache, trained), taken(make(trained, root)))
