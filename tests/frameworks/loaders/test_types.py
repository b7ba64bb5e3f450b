"""mypy agrees with modules that use PyTorch, given PyTorch's own types: in the first part of the tests they are Any."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
CHECKED = ["dali_lab/dynamic", "dali_lab/interop", "dali_lab/studio/probing"]


def test_mypy_agrees(tmp_path: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    untyped = [name for each in settings["overrides"] if "ignore_missing_imports" in each for name in each["module"]]
    # Without the exceptions that the first part makes for modules that use PyTorch.
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\nmypy_path = {ROOT}\n[mypy-{','.join(untyped)}]\nignore_missing_imports = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", tmp_path / "mypy.ini", "--cache-dir", tmp_path / "cache"]
    ran = subprocess.run([*command, *CHECKED], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
