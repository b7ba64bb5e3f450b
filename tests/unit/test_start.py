"""Start-up: modules are imported when they are needed, and kernels are found wherever they are kept."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from dali_lab.kernels.cpu.machine.loading import cached, is_there, signature_of
from dali_lab.schema.registry import built_in
from tests.programs import run_python
from tests.unit.compilations import NOTED

_IMPORTED = "import sys; print(*sorted(sys.modules), file=sys.stderr)"
_NOT_FOR_A_RUN = (
    "asyncio", "cffi", "difflib", "dali_lab.formats.dali.writer", "dali_lab.formats.python.reader", "dali_lab.ops",
    "dali_lab.studio.catalogue", "dali_lab.schema.reference", "dali_lab.studio.preview.evaluation",
    "dali_lab.studio.preview.delivery", "dali_lab.studio.session", "dali_lab.studio.warming", "google.protobuf",
    "matplotlib", "numpy.ma", "pandas", "panel", "param", "pycparser", "scipy.linalg", "statistics", "torch",
)  # fmt: skip


def _operators(modules: list[str]) -> list[str]:
    families = {name.rpartition(".")[0] for name in modules if name.count(".") == 3}
    return [name for name in modules if name.startswith("dali_lab.operators.") and name not in families]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "a.bin").write_bytes(b"0123")
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 1, "num_threads": 1, "seed": 1},
        "nodes": {"read": {"op": "readers.file", "device": "cpu", "arguments": {"files": [str(tmp_path / "a.bin")]}}},
        "outputs": ["read"],
    }
    path = tmp_path / "one.dali.json"
    path.write_text(json.dumps(document))
    return path


def test_a_run_imports_no_more_than_it_needs(graph: Path) -> None:
    program = f"from dali_lab.cli import main; main(['run', {str(graph)!r}, '--batches', '1']); {_IMPORTED}"
    run_python("-c", program)  # compiles what is not in the cache
    done = run_python("-c", program)
    modules = done.stderr.split()
    assert "output 0: 1 × 4, UINT8" in done.stdout
    assert not [name for name in _NOT_FOR_A_RUN if name in modules]
    assert "numba.np.linalg" not in modules, "kernels come from the cache without what Numba needs to compile"
    assert len([name for name in modules if name.startswith("dali_lab.operators.readers.")]) < 10
    assert len({name.split(".")[2] for name in _operators(modules)}) <= 3


def test_kernels_of_a_graph_are_compiled_ahead(graph: Path, tmp_path: Path) -> None:
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "DALI_LAB_COMPILE": "background"}
    done = run_python("-c", f"from dali_lab.cli import main; raise SystemExit(main(['warm', {str(graph)!r}]))", **kept)
    assert f"{graph} is ready" in done.stdout
    done = run_python("-c", f"from dali_lab.cli import main; main(['run', {str(graph)!r}, '--batches', '1'])", **kept)
    assert "output 0" in done.stdout and "compiled" not in done.stdout


def test_importing_the_package_imports_no_operator_and_no_compiler() -> None:
    later = "from dali_lab import fn, pipeline_def; import dali_lab.formats; fn.decoders.image"
    program = f"import dali_lab; {_IMPORTED}; {later}; assert 'numba' not in sys.modules"
    modules = run_python("-c", program).stderr.split()
    assert "numba" not in modules and "importlib.metadata" not in modules
    assert not [name for name in modules if name.startswith("dali_lab.operators.")]


def test_names_are_there_before_their_operators() -> None:
    program = """
from dali_lab import fn, ops
assert {"resize", "readers", "decoders", "coin_flip"} <= set(dir(fn))
assert "file" in dir(fn.readers) and "Resize" in dir(ops) and "File" in dir(ops.readers)
import dali_lab.fn.readers
from dali_lab.fn import *
print(resize.__name__, readers.file.__name__, random.uniform.__name__)
"""
    assert run_python("-c", program).stdout.split() == ["resize", "file", "uniform"]
    assert len(built_in()) > 150


_SCALE = f"""
import numpy as np
from dali_lab.kernels.cpu import memory
{NOTED}
from dali_lab.kernels.cpu import file_access
file_access.groups_of_rows(np.zeros((2, 4), np.uint8), np.zeros(2, np.int64))
print(memory.CACHE_FOLDER, len(compiled))
"""


def _compiled(before: str = "", **environment: str) -> tuple[str, int]:
    folder, count = run_python("-c", before + _SCALE, **environment).stdout.split()
    return folder, int(count)


def test_kernels_are_kept_apart_from_those_of_others(tmp_path: Path) -> None:
    """Also if Numba was imported before."""
    chosen = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path)}
    folder, count = _compiled("import numba\n", **chosen)
    assert Path(folder).is_relative_to(tmp_path) and count > 0
    assert _compiled(**chosen) == (folder, 0)
    assert _compiled("import numba; assert not numba.config.CACHE_DIR\n", **chosen) == (folder, 0)


def test_a_home_that_cannot_be_written_to(tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    folder, count = _compiled(**chosen)
    assert Path(folder).is_relative_to(tmp_path) and count > 0
    assert _compiled(**chosen) == (folder, 0)


def test_nowhere_to_keep_kernels() -> None:
    folder, count = _compiled(NUMBA_CACHE_DIR="/dev/null/kernels")
    assert folder == "None" and count > 0


def test_no_folder_can_be_written_to() -> None:
    """As in a container whose file system is read-only."""
    before = "import tempfile; tempfile._candidate_tempdir_list = lambda: ['/dev/null']\n"
    folder, count = _compiled(before, NUMBA_CACHE_DIR="", XDG_CACHE_HOME="", HOME="/dev/null")
    assert folder == "None" and count > 0


def test_entries_that_are_damaged(tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path)}
    _, count = _compiled(**chosen)
    for ending in ("nbc", "nbi"):
        (entry,) = tmp_path.rglob(f"*groups_of_rows*.{ending}")
        entry.write_bytes(entry.read_bytes()[:100])
        assert _compiled(**chosen)[1] == count
        assert _compiled(**chosen)[1] == 0


def _doubled(values: Any) -> Any:
    return values[0] * 2


def test_an_entry_of_another_variant_is_none(tmp_path: Path) -> None:
    """As two processes leave it that compile variants of one kernel at the same time."""

    def double() -> Any:
        return cached(numba.njit(nogil=True)(_doubled), tmp_path)

    first = double()
    assert first(np.array([3])) == 6 and first(np.array([1.5])) == 3.0
    one, other = sorted(tmp_path.rglob("*.nbc"))
    other.write_bytes(one.read_bytes())
    again = double()
    assert again(np.array([1.5])) == 3.0 and again(np.array([3])) == 6


def test_entries_of_another_version_of_numba_are_none(tmp_path: Path) -> None:
    """The index of a kernel begins with the version that wrote it, which is read before anything else."""

    def double() -> Any:
        return cached(numba.njit(nogil=True)(_doubled), tmp_path)

    values = np.array([3])
    signature = signature_of([values])
    assert double()(values) == 6 and is_there(double(), signature)
    (index,), (code,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    present = pickle.dumps(numba.__version__, protocol=-1)
    assert index.read_bytes().startswith(present)
    index.write_bytes(index.read_bytes().replace(present, pickle.dumps("0.1", protocol=-1), 1))
    code.write_bytes(b"machine code that must not be run")
    again = double()
    assert not is_there(again, signature) and again(values) == 6
    assert index.read_bytes().startswith(present) and is_there(double(), signature)
