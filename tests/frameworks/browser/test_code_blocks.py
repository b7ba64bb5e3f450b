"""Every code block of the documentation runs, page by page; those of frameworks run beside the framework's tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dali_lab import Pipeline
from dali_lab.model.errors import DaliLabError
from tests.code_blocks import ROOT, blocks, run_blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ERRORS = ROOT / "docs/reference/errors.md"
GENERATED = (
    "docs/_",
    "docs/tutorials/",
    "docs/reference/operators/",
    "docs/reference/command-line.md",
    "docs/coming-from/_",
)
_CODE = re.compile(r'\bcode="(\w+)"|\bdefault_code\b[^=\n]*= "(\w+)"|\bProblem\((?:f?"[^"]*"|message), "(\w+)"')
"""An error's code in the package's text: where it is raised, of its class, or of a problem that verification finds."""


def written_by_hand() -> list[Path]:
    """The pages that are not made from declarations."""
    return [page for page in PAGES if page != ERRORS and not page.relative_to(ROOT).as_posix().startswith(GENERATED)]


@pytest.mark.parametrize("page", written_by_hand(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_blocks(page, tmp_path, monkeypatch)


def test_every_code_of_an_error_is_provoked_on_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: set[str] = set()
    initialize = DaliLabError.__init__

    def note(error: DaliLabError, *arguments: Any, **settings: Any) -> None:
        initialize(error, *arguments, **settings)
        raised.add(error.code)

    monkeypatch.setattr(DaliLabError, "__init__", note)
    run_blocks(ERRORS, tmp_path, monkeypatch)
    text = ERRORS.read_text("utf-8")
    table = re.findall(r"^\| \[`(\w+)`\]\(#([\w-]+)\)", text, re.M)
    sections = re.findall(r"^\(([\w-]+)\)=\n## `(\w+)`$", text, re.M)
    assert sorted(table) == sorted((code, anchor) for anchor, code in sections)
    package = ROOT / "dali_lab"
    sources = [path.read_text("utf-8") for path in package.rglob("*.py") if package / "studio" not in path.parents]
    codes = {"".join(found) for text in sources for found in _CODE.findall(text)}
    assert codes <= {code for code, _ in table} <= raised


def test_blocks_for_frameworks_run_there() -> None:
    for page in written_by_hand():
        for block in blocks(page):
            if block.folder:
                tests = (ROOT / "tests/frameworks" / block.folder).glob("test_*.py")
                name = page.relative_to(ROOT).as_posix()
                assert any(f'"{name}"' in test.read_text("utf-8") for test in tests), f"{name}: {block.folder}"


def test_variables_of_the_environment_are_those_of_the_package() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "dali_lab").rglob("*.py")]
    used = {name for text in texts for name in re.findall(r"DALI_LAB_[A-Z_]+[A-Z]", text)}
    pages = "".join(page.read_text("utf-8") for page in [*PAGES, ROOT / "CONTRIBUTING.md"])
    assert [name for name in sorted(used) if name not in pages] == []
    row = re.search(
        r"^\| `DALI_LAB_GPU` \| (.*) \|$", (ROOT / "docs/reference/environment.md").read_text("utf-8"), re.M
    )
    assert row is not None
    for value in re.findall(r"`(\w+)`", row[1]):
        assert Pipeline(1, 1, None, gpu=value) is not None
