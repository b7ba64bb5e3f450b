"""The code of the documentation that takes Lightning or torchvision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code_blocks import EVERYWHERE, ROOT, run_blocks


@pytest.mark.parametrize("page", ["docs/how-to/lightning.md", "docs/coming-from/torchvision.md"])
def test_blocks_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(ROOT / page, tmp_path, monkeypatch, [EVERYWHERE, "loaders"])
