"""Pyright says of users' programs what mypy says: ``tests/typing/programs.py`` has what it must find and nothing else.

Run by basedpyright, whose package has all of Pyright in it; Pyright's own fetches it when it runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_programs_are_checked_against_the_stubs(tmp_path: Path) -> None:
    settings = {
        "include": [str(ROOT / "tests" / "typing")],
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.11",
        "typeCheckingMode": "standard",
        "enableTypeIgnoreComments": True,
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--project", str(project), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
