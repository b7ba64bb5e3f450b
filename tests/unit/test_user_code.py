"""Errors name the user's line: in a file, and in the cell of a notebook."""

from __future__ import annotations

from ast import literal_eval

import pytest

from tests.programs import run_python


def test_a_line_of_a_cell_is_named_as_ipython_names_it() -> None:
    program = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("from dali_lab import fn, pipeline_def", store_history=True)
shell.run_cell(
    "@pipeline_def(batch_size=1, num_threads=1, device_id=None)\\n"
    "def broken():\\n"
    "    return fn.random.uniform(range=[0, 1], sead=3)\\n"
    "try:\\n    broken()\\nexcept Exception as error:\\n    print(error)",
    store_history=True,
)
"""
    assert "placed at: In[2], line 3" in run_python("-c", program).stdout


def test_a_line_under_a_magic_is_counted_from_the_top_of_its_cell() -> None:
    program = r"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("from dali_lab import fn, pipeline_def", store_history=True)
shell.run_cell(
    "\n%%time\n@pipeline_def(batch_size=1, num_threads=1, device_id=None)\n"
    "def broken():\n"
    "    return fn.random.uniform(range=[0, 1], sead=3)\n"
    "try:\n    broken()\nexcept Exception as error:\n    print(error)",
    store_history=True,
)
"""
    assert "placed at: In[2], line 5" in run_python("-c", program).stdout


OWN_FUNCTION = """
import numpy as np
from dali_lab import fn, pipeline_def

def divides(array):
    return array // (1 // 0)

@pipeline_def(batch_size=1, num_threads=1, device_id=None, exec_async=False, exec_pipelined=False)
def broken():
    zeros = fn.external_source(source=lambda: [np.zeros(3, np.uint8)])
    return fn.python_function(zeros, function=divides)

broken().run()
"""
OWN_SOURCE = """
from dali_lab import fn, pipeline_def

def divides(sample):
    return sample.idx_in_epoch // 0

@pipeline_def(batch_size=1, num_threads=1, device_id=None, exec_async=False, exec_pipelined=False)
def broken():
    return fn.external_source(source=divides, batch=False)

broken().run()
"""
INTERRUPTED = """
import signal, sys, threading, time, traceback
import numpy as np
from dali_lab import fn, pipeline_def

main, sent = threading.main_thread().ident, []

def waits():
    return any(frame.f_code.co_name == "take" for frame, _ in traceback.walk_stack(sys._current_frames()[main]))

def interrupts(array):
    while not sent and not waits():
        time.sleep(0.01)
    if not sent:
        sent.append(signal.pthread_kill(main, signal.SIGINT))
    return array

@pipeline_def(batch_size=1, num_threads=1, device_id=None, exec_async=False, exec_pipelined=False)
def stopped():
    zeros = fn.external_source(source=lambda: [np.zeros(3, np.uint8)])
    return fn.python_function(zeros, function=interrupts)

stopped().run()
"""
"""The person interrupts the cell while it waits for a batch."""
SHOW = """
import io, signal
from contextlib import redirect_stdout
from IPython.core.interactiveshell import InteractiveShell

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background without it
shell = InteractiveShell.instance(colors="NoColor")
for mode in ("Context", "Verbose"):
    shell.run_line_magic("xmode", mode)
    with redirect_stdout(io.StringIO()) as said:
        shell.run_cell(CELL, store_history=True)
    print([line for line in said.getvalue().splitlines() if line.startswith(("Cell ", "File "))])
"""


@pytest.mark.parametrize(
    ("cell", "frames"),
    [
        (OWN_FUNCTION, ["Cell In[1], line 5, in divides(array)", "Cell In[1], line 12"]),
        (INTERRUPTED, ["Cell In[1], line 22"]),
        (OWN_SOURCE, ["Cell In[1], line 10", "Cell In[1], line 4, in divides(sample)"]),
    ],
)
def test_a_cell_shows_the_frames_of_the_user_alone(cell: str, frames: list[str]) -> None:
    said = run_python("-c", f"CELL = {cell!r}\n{SHOW}").stdout
    context, verbose = (literal_eval(line) for line in said.splitlines() if line[0] == "[")
    assert context == frames
    assert len(verbose) > 4
