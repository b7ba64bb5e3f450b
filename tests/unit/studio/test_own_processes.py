"""Processes that the package starts for itself import nothing from the working folder, which may be a stranger's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import dali_lab
from dali_lab.model.subprocesses import environment, own_module


@pytest.mark.parametrize("module", ["dali_lab.kernels.cpu.background", "dali_lab.formats.python.tracing_worker"])
def test_modules_of_the_working_folder_are_not_imported(tmp_path: Path, module: str) -> None:
    mark = tmp_path / "it ran"
    for name in ("dali_lab", "numpy", "json", "numba"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    done = subprocess.run(
        own_module(module, str(tmp_path / "answer.json")), cwd=tmp_path, env=environment(), input=b"{}",
        capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert not mark.exists()
    assert b"No module named" not in done.stderr


def test_every_process_keeps_the_working_folder_out() -> None:
    package = Path(dali_lab.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert not [path.name for path, text in texts.items() if 'sys.executable, "-m"' in text]
