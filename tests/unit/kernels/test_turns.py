"""Processes that need the same kernel compile it once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.machine.turns import locked
from tests.programs import run_python
from tests.unit.compilations import NOTED

_CAST = f"""
import sys
import numpy as np
from dali_lab.kernels.cpu.convert import cast
{NOTED}
values, out = np.zeros(4, np.int16), np.empty(4, sys.argv[1])
cast(*(np.array([n]) for n in (values.ctypes.data, out.ctypes.data, 4)), values.dtype, out.dtype)
print(compiled.count("_cast"))
"""

_TAKE = "import sys; from dali_lab.kernels.cpu.machine.turns import locked\nwith locked(*sys.argv[1:]): print('on')"


@pytest.mark.skipif(not uses("loading"), reason="the cache is that of Numba alone then")
def test_who_comes_later_waits_and_finds_it_on_disk(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        done = threads.map(
            lambda kind: run_python("-c", _CAST, kind, NUMBA_CACHE_DIR=str(tmp_path)).stdout, ["uint8", "uint8", "int8"]
        )
        twice, again, other = (int(count) for count in done)
    assert (twice + again, other) == (1, 1)
    assert len([*tmp_path.rglob("convert._cast*.nbc")]) == 2  # neither left the other out of the index


def test_another_subject_is_free(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "lock"
    with ThreadPoolExecutor(1) as threads:
        with locked(str(file), "a"):
            assert run_python("-c", _TAKE, file, "b").stdout == "on\n"
            waiting = threads.submit(run_python, "-c", _TAKE, file, "a")
            time.sleep(1)  # it would be done, if it did not wait
            assert not waiting.done()
        assert waiting.result().stdout == "on\n"


def test_a_file_that_cannot_be_made_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with locked(str(tmp_path / "file" / "lock"), "a"):
        pass
