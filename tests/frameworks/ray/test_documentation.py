"""The code of the documentation that takes Ray."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code_blocks import ROOT, run_blocks


@pytest.mark.usefixtures("local_ray")
def test_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(ROOT / "docs/how-to/ray.md", tmp_path, monkeypatch, ["ray"])
