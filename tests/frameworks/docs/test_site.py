"""The documentation is built as a user builds it, without a warning and without the web."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_the_web(tmp_path: Path) -> None:
    strictly = ["-W", "--keep-going", "-n", "-q", "-d", str(tmp_path / "trees")]
    command = [sys.executable, "-m", "sphinx", *strictly, str(ROOT / "docs"), str(tmp_path / "html")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = list((tmp_path / "html").rglob("*.html"))
    assert len(pages) > 300
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+rel=\"(?:stylesheet|preload)\"[^>]+//"
    )
    assert not [page for page in pages if loads.search(page.read_text("utf-8"))]
    for link in re.findall(r'href="(gallery/[^"#]+)"', (tmp_path / "html" / "gallery.html").read_text("utf-8")):
        assert (tmp_path / "html" / link).is_file()


def test_the_command_builds_and_finds_the_page_of_an_operator(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dali_lab", "docs", "rotate", "--no-browser", "-o", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("reference/operators/rotate.html")
    assert "Rotates images" in (tmp_path / "reference" / "operators" / "rotate.html").read_text("utf-8")
