"""``dali-lab docs``: builds the documentation and opens it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

from dali_lab.cli.options import Commands, add_command, written
from dali_lab.model.errors import DaliLabError

_PARTS = ("docs", "notebooks")
_NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme", "sphinx_design", "sphinx_copybutton")


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "docs",
        "open the documentation",
        description="Build the documentation of this version, where that has not been done, and open it in a browser.",
    )
    parser.add_argument("subject", nargs="?", metavar="NAME", help="an operator, or a page such as how-to/video")
    parser.add_argument(
        "-o", "--output", type=written, metavar="DIR", help="folder to write the pages to (default: in your cache)"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening it")
    parser.set_defaults(function=_docs)


def _docs(options: argparse.Namespace) -> int:
    from dali_lab.model.documentation import pages_folder, work_folder
    from dali_lab.model.extras import require

    require("docs", _NEEDED, "the documentation")
    work = work_folder()
    pages = Path(options.output or pages_folder()).absolute()
    _copy_sources(work)
    if sys.stderr.isatty():
        print("building the documentation, which takes a minute or two the first time …", file=sys.stderr)
    command = [sys.executable, "-P", "-m", "sphinx", "-q", "-d", str(work / "doctrees"), str(work / "docs"), str(pages)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise DaliLabError(f"the documentation cannot be built: {built.stderr.strip()}")
    address = (pages / _page_of(options.subject, pages)).as_uri()
    print(address)
    if not options.no_browser:
        webbrowser.open(address)
    return 0


def _copy_sources(work: Path) -> None:
    """Copy what the pages are made of to a folder that can be written.

    A file that has not changed keeps its time, and one that an earlier version brought and this one lacks is removed.
    """
    here = Path(__file__).resolve()
    inside = here.parents[1] / "documentation"
    sources = inside if inside.is_dir() else here.parents[2]
    listed = work / "sources.txt"
    before = set(listed.read_text("utf-8").splitlines()) if listed.is_file() else set()
    copied = set()
    for part in _PARTS:
        if not (sources / part).is_dir():
            raise DaliLabError(f"this installation has no documentation: there is no folder {sources / part}")
        for path in (sources / part).rglob("*"):
            target = work / path.relative_to(sources)
            if path.is_file() and "_build" not in path.parts:
                copied.add(path.relative_to(sources).as_posix())
                if not _is_copy(target, path):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, target)
    for name in before - copied:
        (work / name).unlink(missing_ok=True)
    listed.write_text("\n".join(sorted(copied)), "utf-8")


def _is_copy(target: Path, source: Path) -> bool:
    return target.is_file() and os.path.getmtime(target) == os.path.getmtime(source)


def _page_of(subject: str | None, pages: Path) -> str:
    """The page of an operator or of a name such as ``how-to/video``."""
    from dali_lab.model.documentation import operator_page

    if subject is None:
        return "index.html"
    name = subject.removeprefix("fn.")
    for candidate in (operator_page(name), f"{name}.html", f"{name}/index.html"):
        if (pages / candidate).is_file():
            return candidate
    raise DaliLabError(f"the documentation has no page '{subject}'; `dali-lab docs` opens its first page")
