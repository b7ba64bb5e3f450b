"""The documentation is built as a user builds it, without a warning and without the web."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dali_lab.model.documentation import operator_page
from dali_lab.studio.catalogue import catalogue

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a warning is an error."""
    place = tmp_path_factory.mktemp("site")
    strictly = ["-W", "--keep-going", "-n", "-q", "-d", str(place / "trees")]
    command = [sys.executable, "-m", "sphinx", *strictly, str(ROOT / "docs"), str(place / "html")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return place / "html"


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_the_web(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 300
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+rel=\"(?:stylesheet|preload)\"[^>]+//"
    )
    assert not [page for page in pages if loads.search(page.read_text("utf-8"))]


def test_every_link_leads_to_a_page_and_to_a_place_on_it(site: Path) -> None:
    """Sphinx does not look at links that a page writes as HTML, such as those to the gallery."""
    texts = {page: page.read_text("utf-8") for page in site.rglob("*.html") if "_static" not in page.parts}
    places = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for page, text in texts.items()}
    lost = set()
    for page, text in texts.items():
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc:
                continue
            target = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            there = places.get(target, set()) if parts.fragment else {""}
            if not target.is_file() or unquote(parts.fragment) not in there:
                lost.add((page.relative_to(site).as_posix(), link))
    assert sorted(lost) == []


def test_every_operator_has_the_page_that_the_help_of_the_editor_opens(site: Path) -> None:
    names = [operator.name for operator in catalogue().operators if not operator.added]
    assert len(names) > 150
    for name in names:
        title = re.search(r"<title>(.*?) &#8212;", (site / operator_page(name)).read_text("utf-8"))
        assert title is not None
        assert title[1] == name


def test_the_command_builds_and_finds_the_page_of_an_operator(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dali_lab", "docs", "rotate", "--no-browser", "-o", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("reference/operators/rotate.html")
    assert "Rotates images" in (tmp_path / "reference" / "operators" / "rotate.html").read_text("utf-8")
