# ruff: noqa: PT012  (what is raised comes out of loops and of definitions)
"""However a pipeline ends, nothing hangs, crashes or stays behind."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from tests.programs import run_python
from tests.waiting import wait_until


def make(threads: int = 2, **settings: Any) -> Pipeline:
    pipeline = Pipeline(4, threads, None, **settings)
    with pipeline:
        images = fn.external_source(source=lambda i: np.full((4, 16, 16, 3), i % 255, np.uint8), layout="HWC")
        pipeline.set_outputs(fn.flip(images))
    return pipeline


def engine_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("dali-lab")}


def wait_for_the_end_of_others(before: set[threading.Thread]) -> None:
    """Wait until there are no threads but those from `before`, which pipelines of other tests may end meanwhile."""
    wait_until(lambda: not engine_threads() - before, "threads of a pipeline go on")


def test_a_dropped_pipeline_takes_its_threads_along() -> None:
    before = engine_threads()
    pipeline = make()
    pipeline.run()
    assert len(engine_threads() - before) == 2
    gc.disable()
    try:
        del pipeline
        wait_for_the_end_of_others(before)
    finally:
        gc.enable()


def test_two_hundred_pipelines_in_a_loop() -> None:
    before = engine_threads()
    for _ in range(200):
        pipeline = make(prefetch_queue_depth=3)
        assert int(pipeline.run()[0].at(0)[0, 0, 0]) == 0
    del pipeline
    gc.collect()
    wait_for_the_end_of_others(before)


def test_breaks_and_errors_in_the_loop() -> None:
    before = engine_threads()
    for _ in range(3):
        pipeline = make()
        for _ in range(2):
            pipeline.run()
    with pytest.raises(KeyError):
        pipeline.run()
        raise KeyError("in the loop")
    del pipeline
    wait_for_the_end_of_others(before)


def test_a_pipeline_that_cannot_be_built_leaves_no_thread() -> None:
    before = engine_threads()
    drawing = Pipeline(2, 2, None, enable_checkpointing=True)
    with drawing:
        drawing.set_outputs(fn.random.uniform())
    drawing.build()
    other = make(enable_checkpointing=True, checkpoint=drawing.checkpoint())
    drawing.close()
    with pytest.raises(ValueError, match="another pipeline"):
        other.build()
    wait_for_the_end_of_others(before)


def test_outputs_outlive_their_pipeline() -> None:
    pipeline = make()
    outputs = [pipeline.run()[0] for _ in range(5)]
    arrays = [out.at(1) for out in outputs]
    pipeline.close()
    del pipeline, outputs
    gc.collect()
    assert [int(array[0, 0, 0]) for array in arrays] == [0, 1, 2, 3, 4]


def test_closing_twice_and_using_it_then() -> None:
    pipeline = make()
    pipeline.run()
    pipeline.close()
    pipeline.close()
    with pytest.raises(RuntimeError, match="closed"):
        pipeline.run()


def test_two_pipelines_at_once() -> None:
    first, second = make(), make()
    for index in range(5):
        assert int(first.run()[0].at(0)[0, 0, 0]) == int(second.run()[0].at(0)[0, 0, 0]) == index


def test_pipelines_in_threads() -> None:
    results: list[int] = []

    def work() -> None:
        pipeline = make()
        results.append(sum(int(pipeline.run()[0].at(0)[0, 0, 0]) for _ in range(10)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [45] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told_and_can_build_its_own() -> None:
    pipeline = make()
    pipeline.run()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                pipeline.run()
                answer = b"ran"
            except RuntimeError as error:
                answer = b"told" if "another process" in str(error) else b"other"
            own = make()
            answer += b" %d" % int(own.run()[0].at(0)[0, 0, 0])
            own.close()
            del pipeline, own
            gc.collect()
            os.write(write, answer)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    assert answer == b"told 0"
    assert int(pipeline.run()[0].at(0)[0, 0, 0]) == 1, "the parent goes on"


PROGRAMS = {
    "while running": """
pipeline.run()
""",
    "global and close at exit": """
for _ in range(5): pipeline.run()
import atexit
atexit.register(lambda: print("bye"))
""",
    "error": """
pipeline.run()
raise SystemExit(0)
""",
    "thread": """
import threading
threading.Thread(target=lambda: [pipeline.run() for _ in range(50)], daemon=True).start()
time.sleep(0.05)
""",
    "thread that makes pools": """
import threading
from dali_lab.executor.pool import ThreadPool
sys.setswitchinterval(1e-6)
def make():
    while True: ThreadPool(8).close()
for _ in range(3): threading.Thread(target=make, daemon=True).start()
time.sleep(0.03)
""",
    "fork": """
pipeline.run()
pid = os.fork()
if pid == 0:
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
pipeline.run()
""",
    "workers": """
parallel = dali_lab.Pipeline(2, 1, None, py_num_workers=2)
with parallel:
    parallel.set_outputs(dali_lab.fn.external_source(source=lambda i: np.full((2, 1000), i), parallel=True))
parallel.run()
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_interpreter_ends_while_a_pipeline_runs(program: str) -> None:
    text = """
import os, sys, time
import numpy as np
import dali_lab
from dali_lab import fn
pipeline = dali_lab.Pipeline(4, 3, None, prefetch_queue_depth=4)
with pipeline:
    images = fn.external_source(source=lambda i: np.full((4, 300, 300, 3), i % 255, np.uint8), layout="HWC")
    for _ in range(4):
        images = fn.flip(images)
    pipeline.set_outputs(images)
"""
    # From 3.12 on Python warns of every fork in a process with threads.
    python = ("-W", "ignore:This process:DeprecationWarning", "-c")
    assert not run_python(*python, text + PROGRAMS[program]).stderr.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_workers_end_with_a_killed_parent() -> None:
    text = """
import os, signal
import numpy as np
import dali_lab
pipeline = dali_lab.Pipeline(2, 1, None, py_num_workers=2)
with pipeline:
    pipeline.set_outputs(dali_lab.fn.external_source(source=lambda i: np.zeros((2, 1)), parallel=True))
pipeline.run()
import multiprocessing
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_python("-c", text, status=-signal.SIGKILL)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2
    wait_until(lambda: not any(_lives(pid) for pid in pids), "workers live on")


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
