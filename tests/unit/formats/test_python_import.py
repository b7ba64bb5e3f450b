"""Programs of any style are listed without running them, and traced in a process of their own."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from dali_lab.errors import FormatError
from dali_lab.formats.python import reader as python_static
from dali_lab.formats.python import tracing as python_import
from dali_lab.formats.python import writer as python_code
from dali_lab.formats.python.programs import Found, pipelines
from dali_lab.graph.graph import Edge
from tests.programs import LIMIT
from tests.unit.formats.test_python_code import example

PROGRAM = '''
import numpy as np
from nvidia.dali import Pipeline, fn, pipeline_def, types
import nvidia.dali.ops as ops

print("this is said while it is read")

def pictures():
    return [np.zeros((4, 4, 3), np.uint8)] * 2

def turned(x):
    y = fn.flip(x, vertical=1)
    return y

@pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=3)
def by_function(times=2):
    """Flip pictures."""
    images = fn.external_source(source=pictures, layout="HWC")
    for _ in range(times):
        images = turned(images)
    scaled = images * 0.5 + 1
    return scaled

@pipeline_def
def needs(folder):
    return fn.external_source(name=folder)

with Pipeline(batch_size=3, num_threads=1, device_id=None) as by_block:
    data = fn.external_source(source=pictures, layout="HWC")
    by_block.set_outputs(fn.flip(data))

class ByClass(Pipeline):
    """The old style."""

    def __init__(self, batch_size, num_threads, device_id):
        super().__init__(batch_size, num_threads, device_id, seed=1)
        self.source = ops.ExternalSource(source=pictures, layout="HWC")
        self.flip = ops.Flip(device="cpu", vertical=1)

    def define_graph(self):
        images = self.source()
        flipped = self.flip(images)
        return flipped

if __name__ == "__main__":
    raise SystemExit("this must not run")
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "their_program.py"
    path.write_text(PROGRAM)
    return path


def test_pipelines_are_listed_without_running() -> None:
    assert pipelines(PROGRAM) == [
        Found("by_function", "function", 16, "Flip pictures.", (), (("times", "2"),)),
        Found("needs", "function", 25, "", ("folder",)),
        Found("by_block", "context", 28),
        Found(
            "ByClass",
            "class",
            32,
            "The old style.",
            (),
            (("batch_size", "8"), ("num_threads", "2"), ("device_id", "None")),
        ),
    ]


def test_a_function_is_traced_with_the_names_of_its_variables(program: Path) -> None:
    graph = python_import.trace(program, "by_function")
    assert list(graph.nodes) == ["images", "y", "y_2", "mul", "scaled"]
    assert graph["images"].arguments["source"].name == "their_program:pictures"
    assert graph.pipeline["seed"] == 3
    assert list(python_import.trace(program, "by_function", arguments={"times": 0}).nodes) == [
        "images",
        "mul",
        "scaled",
    ]


def test_a_block_and_a_class_are_traced(program: Path) -> None:
    assert list(python_import.trace(program, "by_block").nodes) == ["data", "flip"]
    graph = python_import.trace(program, "ByClass")
    assert [node.op for node in graph.nodes.values()] == ["external_source", "flip"]
    assert graph.outputs == (Edge("flipped"),)


def test_what_was_exported_is_traced_back() -> None:
    graph = example()
    assert python_import.trace_text(python_code.dumps(graph)).nodes.keys() == graph.nodes.keys()


COMMENTED = """
from dali_lab import fn, pipeline_def

@pipeline_def(batch_size=2)
def commented():
    # The pictures, as they come
    # from the camera.
    images = fn.external_source(name="images")
    flipped = fn.flip(images)  # upside down?
    # no node here
    times = 2
    return flipped * times + 1
"""


def test_comments_stay_with_their_nodes() -> None:
    traced = python_import.trace_text(COMMENTED)
    expected = {
        "images": {"comment": "The pictures, as they come from the camera."},
        "flipped": {"comment": "upside down?"},
    }
    assert traced.view["nodes"] == expected
    assert python_static.read(COMMENTED).view["nodes"] == expected
    code = python_code.dumps(traced)
    assert "    # upside down?\n    flipped = fn.flip(images)\n" in code
    assert python_static.read(code).view["nodes"] == expected


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("import no_such_module\n@pipeline_def\ndef p(): pass", None, "line 1: ModuleNotFoundError"),
        ("from dali_lab import *\n@pipeline_def\ndef p():\n    return fn.flip()", None, "line 4: (.|\n)*takes 1 input"),
        ("import os\ndef pipeline_def(f): return f\n@pipeline_def\ndef p(): os._exit(3)", None, "ended with status 3"),
        ("x = 1", None, "no pipeline here"),
        (PROGRAM, None, "several pipelines here: by_function, needs"),
        (PROGRAM, "by_functoin", "did you mean 'by_function'"),
        (PROGRAM, "needs", "missing 1 required positional argument"),
        ("def broken(", None, "not Python"),
    ],
)
def test_failures_say_where(text: str, name: str | None, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        python_import.trace_text(text, name)


ENDLESS = """
import os
from dali_lab import pipeline_def
open({file!r}, "w").write(str(os.getpid()))
while True: pass
@pipeline_def
def p(): pass
"""


def has_begun(file: Path) -> bool:
    """Whether the program has written the number of its process, which comes after it has made the file."""
    return file.exists() and bool(file.read_text())


def is_running(file: Path) -> bool:
    try:
        os.kill(int(file.read_text()), 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


def test_an_endless_program_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    # On a busy machine the other process may not have come to the program when its time is over.
    for seconds in (2, 6, 30, 120):
        with pytest.raises(FormatError, match=f"took longer than {seconds} s"):
            python_import.trace_text(ENDLESS.format(file=str(file)), timeout=seconds)
        if has_begun(file):
            break
    assert has_begun(file)
    assert not is_running(file)


def test_tracing_can_be_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    cancel = threading.Event()

    def cancel_once_it_runs() -> None:
        end = time.monotonic() + LIMIT
        while not has_begun(file) and time.monotonic() < end:
            time.sleep(0.02)
        cancel.set()

    thread = threading.Thread(target=cancel_once_it_runs)
    thread.start()
    with pytest.raises(FormatError, match="cancelled"):
        python_import.trace_text(ENDLESS.format(file=str(file)), timeout=LIMIT, cancel=cancel)
    thread.join()
    assert not is_running(file)
