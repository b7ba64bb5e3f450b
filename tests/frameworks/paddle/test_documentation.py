"""The code of the documentation that takes this framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code_blocks import ROOT, run_blocks


def test_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(ROOT / "docs/how-to/other-frameworks.md", tmp_path, monkeypatch, ["paddle"])
