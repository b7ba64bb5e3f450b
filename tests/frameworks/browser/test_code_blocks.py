"""Every code block of the documentation runs: Python, doctests and commands, page by page, in a folder of its own.

A page finds the sample photographs as ``pictures/LABEL/NAME.jpg``. A block that cannot run here has a comment above it
that says why: ``<!-- not run: needs a GPU -->``.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dali_lab.cli.entry import main
from dali_lab.gallery.samples import photographs
from dali_lab.model.errors import DaliLabError

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ERRORS = ROOT / "docs/reference/errors.md"
GENERATED = (
    "docs/_",
    "docs/tutorials/",
    "docs/reference/operators/",
    "docs/reference/command-line.md",
    "docs/coming-from/_",
)
COMMANDS = ("run", "export", "show", "convert", "diff", "ops", "index", "check", "pack")
"""Commands that end by themselves and in a moment; `sh` blocks with others are examples."""
_CODE = re.compile(r'\bcode="(\w+)"|\bdefault_code\b[^=\n]*= "(\w+)"|\bProblem\((?:f?"[^"]*"|message), "(\w+)"')
"""An error's code in the package's text: where it is raised, of its class, or of a problem that verification finds."""
_BLOCK = re.compile(
    r"(?P<comment><!-- not run: [^>]+ -->\n+)?^```(?P<language>python|pycon|sh)\n(?P<text>.*?)^```$", re.M | re.S
)


class Block(NamedTuple):
    """A fenced block, with the number of its first line."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are to run."""
    text = page.read_text("utf-8")
    return [
        Block(found["language"], found["text"], text[: found.start("text")].count("\n") + 1)
        for found in _BLOCK.finditer(text)
        if not found["comment"]
    ]


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


def run_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page in a folder that has the sample photographs."""
    (tmp_path / "pictures").symlink_to(photographs())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        place = f"{page.relative_to(ROOT)}:{block.line}"
        if block.language == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
        elif block.language == "pycon":
            _run_doctest(block.text, names, place)
        else:
            _run_commands(block.text, place)


def _run_doctest(text: str, names: dict[str, object], place: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=options)
    runner.run(example, out=said.write, clear_globs=False)
    names.update(example.globs)
    assert runner.summarize(verbose=False).failed == 0, said.getvalue()


def _run_commands(text: str, place: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["dali-lab"] and words[1:2] and words[1] in COMMANDS:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                assert main(words[1:]) in (0, 1), f"{place}: {line}: {said.getvalue()}"
