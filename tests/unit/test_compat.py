"""Programs written for NVIDIA DALI find DALI Lab under its name."""

from __future__ import annotations

import importlib
import io
import os
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dali_lab
from dali_lab import backend, compat
from tests.programs import run_python

MODULES = [
    "", ".fn", ".fn.readers", ".fn.decoders", ".fn.random", ".ops", ".ops.readers", ".types", ".pipeline", ".data_node",
    ".math", ".tensors", ".backend", ".plugin", ".plugin.base_iterator", ".external_source", ".pickling",
    ".plugin.numba.fn.experimental", ".plugin.triton", ".python_function_plugin",
]  # fmt: skip


@pytest.fixture
def installed() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_ours(installed: None, name: str) -> None:
    check(name)


def check(name: str) -> None:
    """Imported under both names, it is one module."""
    alias, own = importlib.import_module("nvidia.dali" + name), importlib.import_module("dali_lab" + name)
    assert alias is own or (name == "" and alias.fn is own.fn)
    assert alias.__name__ == own.__name__ == "dali_lab" + name
    assert own.__spec__ is None or own.__spec__.name == "dali_lab" + name


def test_the_usual_imports(installed: None) -> None:
    import nvidia.dali
    import nvidia.dali.fn as functions
    import nvidia.dali.ops as objects
    import nvidia.dali.types
    from nvidia.dali import Pipeline, fn, ops, pipeline_def, types
    from nvidia.dali.pipeline import Pipeline as Other
    from nvidia.dali.pipeline import do_not_convert
    from nvidia.dali.pipeline import pipeline_def as definition
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy

    assert nvidia.dali.DataNode is dali_lab.DataNode and functions is fn is dali_lab.fn and objects is ops
    assert Pipeline is Other is dali_lab.Pipeline and pipeline_def is definition
    assert nvidia.dali.types is types is dali_lab.types
    assert LastBatchPolicy.DROP.value == 1 and callable(do_not_convert)
    from nvidia.dali.pipeline.experimental import pipeline_def as experimental_definition

    assert nvidia.dali.pipeline.experimental.pipeline_def is experimental_definition


def test_what_is_missing_is_named(installed: None) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"nvidia\.dali\.experimental\.eager.*dali_lab\.dynamic"):
        importlib.import_module("nvidia.dali.experimental.eager")


def test_scripts_ask_for_the_version_of_nvidia_dali(installed: None) -> None:
    import nvidia.dali
    from nvidia.dali import __version__

    assert __version__ == nvidia.dali.__version__ == "2.4.0"
    assert dali_lab.__version__ != __version__
    assert {"fn", "pipeline_def", "__version__"} <= {*dir(nvidia.dali), *nvidia.dali.__all__, "fn"}
    nvidia.dali.of_a_script = 1
    assert not hasattr(dali_lab, "of_a_script")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nvidia.dali.nothing  # noqa: B018


def test_the_version_is_that_of_the_releases_compared_with() -> None:
    real = pytest.importorskip("nvidia.dali")
    assert real.__version__ == compat.VERSION


def test_the_real_one_comes_back() -> None:
    real = pytest.importorskip("nvidia.dali")
    assert real is not dali_lab
    compat.install()
    compat.install()
    assert importlib.import_module("nvidia.dali").Pipeline is dali_lab.Pipeline
    compat.uninstall()
    compat.uninstall()
    assert importlib.import_module("nvidia.dali") is real
    assert importlib.import_module("nvidia.dali.fn").__name__ == "nvidia.dali.fn"


def test_programs_can_call_the_commands_that_write_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(tmp_path / "a.b.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("0.jpg", "0.cls"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            archive.addfile(entry, io.BytesIO(b"abc"))
    record = struct.pack("<QI", 5, 0) + b"12345" + bytes(4)
    (tmp_path / "r").write_bytes(record * 2)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(Path(dali_lab.__file__).parents[1]))
    before = dict(os.environ)
    compat.install()
    try:
        subprocess.run(["wds2idx", "a.b.tar"], cwd=tmp_path, check=True)
        subprocess.run(["tfrecord2idx", "r", "r.idx"], cwd=tmp_path, check=True)
        assert subprocess.run(["tfrecord2idx", "not there", "x"], cwd=tmp_path, check=False).returncode == 2
    finally:
        compat.uninstall()
    assert dict(os.environ) == before
    assert (tmp_path / "a.idx").read_text() == "v1.2 1\njpg 512 3 0.jpg cls 1536 3 0.cls\n"
    assert (tmp_path / "r.idx").read_text() == "0 21\n21 21\n"


def test_scripts(tmp_path: Path) -> None:
    (tmp_path / "helper_of_script.py").write_text("VALUE = 3\n")
    script = tmp_path / "program.py"
    script.write_text(
        """
import sys
import numpy as np
import nvidia.dali as dali
from nvidia.dali import pipeline_def, fn
from helper_of_script import VALUE

@pipeline_def(batch_size=2, num_threads=1, device_id=0)
def program():
    return fn.flip(fn.external_source(source=lambda: np.full((2, 2, 2, 3), VALUE, np.uint8)))

if __name__ == "__main__":
    print(dali.__name__, program().run()[0].as_cpu().as_array().sum(), sys.argv[1:])
    raise SystemExit(5)
"""
    )
    done = run_python("-m", "dali_lab", "run", script, "--epochs", "3", status=5)
    assert done.stdout.split("\n")[0] == "dali_lab 72 ['--epochs', '3']", done.stderr


def test_scripts_with_processes_that_start_afresh(tmp_path: Path) -> None:
    """The worker imports the script again, and has to find the alias there."""
    script = tmp_path / "program.py"
    script.write_text(
        """
import numpy as np
import nvidia.dali as dali
from nvidia.dali import pipeline_def, fn, types

assert dali.__name__ == "dali_lab"


class Source:
    def __init__(self, size):
        self.size = size

    def __call__(self, sample_info: types.SampleInfo):
        if sample_info.idx_in_epoch >= self.size:
            raise StopIteration
        return np.full((2, 2), sample_info.idx_in_epoch, np.int32)


@pipeline_def(batch_size=4, num_threads=1, device_id=0, py_num_workers=2, py_start_method="spawn")
def program():
    return fn.external_source(source=Source(10), batch=False, parallel=True)


if __name__ == "__main__":
    pipe = program()
    print([[int(pipe_out[0, 0]) for pipe_out in map(np.asarray, pipe.run()[0])] for _ in range(2)])
    try:
        pipe.run()
    except StopIteration:
        print("end")
"""
    )
    done = run_python("-m", "dali_lab", "run", script)
    assert done.stdout.splitlines()[:2] == ["[[0, 1, 2, 3], [4, 5, 6, 7]]", "end"], done.stderr


def test_errors_of_scripts_are_shown_with_their_lines(tmp_path: Path) -> None:
    """And warnings name the line that built the pipeline, wherever it stands."""
    script = tmp_path / "program.py"
    script.write_text(
        """
import os
from nvidia.dali import pipeline_def, fn, types

@pipeline_def(batch_size=2, num_threads=1, device_id=0)
def program():
    return fn.flip(types.Constant([[[1]]], device="cpu").gpu())

def build():
    pipe = program()
    pipe.build()

build()
os.makedirs(os.path.dirname("model.dali"))
"""
    )
    done = run_python("-m", "dali_lab", "run", script, status=1)
    warning, *trace = done.stderr.split("Traceback")
    assert warning.startswith(f"{script}:11: UserWarning: there is no GPU here")
    lines = "".join(trace).splitlines()
    assert lines[1].strip() == f'File "{script}", line 14, in <module>'
    assert lines[-1].startswith("FileNotFoundError")
    script.write_text("if True\n")
    done = run_python("-m", "dali_lab", "run", script, status=1)
    assert done.stderr.splitlines()[0].strip() == f'File "{script}", line 1'
    done = run_python("-m", "dali_lab", "run", "missing.py", status=2)
    assert done.stderr == "dali-lab run: missing.py: No such file or directory\n"


@pytest.mark.parametrize(
    ("operator", "arguments", "words"),
    [
        ("paste", {"ratio": 2.0, "fill_value": 0, "min_canvas_size": -1.0}, "less than 0 is not supported"),
        ("slice", {"start": [1], "end": [2], "shape": [1]}, "mutually exclusive"),
        ("resize", {}, "resize_shorter"),
    ],
)
def test_programs_find_refused_values_when_they_build(
    installed: None, operator: str, arguments: dict[str, object], words: str
) -> None:
    pipeline = dali_lab.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        data = dali_lab.fn.zeros(shape=[4, 4, 3], dtype=dali_lab.types.UINT8)
        getattr(dali_lab.fn, operator)(data, **arguments)  # nobody uses it
        pipeline.set_outputs(getattr(dali_lab.fn, operator)(data, **arguments))
        with pytest.raises(TypeError, match="takes"):
            dali_lab.fn.paste(data, ratio="large")
        with pytest.raises(ValueError, match="Invalid device \"gpu\" for argument 'angle'"):
            dali_lab.fn.rotate(data, angle=dali_lab.fn.random.uniform().gpu())
        with pytest.raises(RuntimeError, match='incompatible device "gpu"'):
            dali_lab.fn.rotate(data.gpu(), angle=1.0, device="cpu")
    with pytest.raises(RuntimeError, match=words):
        pipeline.build()


def test_versions_of_libraries() -> None:
    import cv2

    assert backend.GetOpenCVVersion() == cv2.__version__
    assert backend.GetNvimgcodecVersion() in (-1, 900), "as NVIDIA DALI writes 0.9.0"
