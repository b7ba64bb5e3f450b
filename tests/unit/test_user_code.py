"""Errors name the user's line: in a file, and in the cell of a notebook."""

from __future__ import annotations

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
