"""Runs the code blocks of a page of the documentation: Python, doctests, C and commands, in a folder of its own.

A page finds sample photographs as ``pictures/LABEL/NAME.jpg``, videos as ``videos/LABEL/NAME.mp4``, and a graph as
``training.dali.json``. A block in C is saved under the name in the comment on its first line. A block with a comment
above it, ``<!-- run in tests/frameworks/ray -->``, runs there alone; one that cannot run says why:
``<!-- not run: it needs two machines -->``.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from dali_lab.cli.entry import main
from dali_lab.gallery.samples import photographs, videos

ROOT = Path(__file__).parents[1]
COMMANDS = ("run", "export", "show", "convert", "diff", "ops", "index", "check", "pack")
"""Commands that end by themselves and in a moment; `sh` blocks with others are examples."""
EVERYWHERE = ""
"""The folder of blocks that take no further packages."""
GRAPH = {
    "format": "dali-lab/graph",
    "version": 1,
    "pipeline": {"batch_size": 4, "num_threads": 2, "device_id": None, "seed": 1},
    "nodes": {
        "file": {"op": "readers.file", "arguments": {"file_root": "pictures"}},
        "image": {"op": "decoders.image", "inputs": ["file"]},
        "resize": {"op": "resize", "inputs": ["image"], "arguments": {"size": [64, 64]}},
    },
    "outputs": ["resize", "file:1"],
}
_BLOCK = re.compile(
    r"(?P<comment><!-- (?:not run: [^>]+|run in tests/frameworks/(?P<folder>\w+)) -->\n+)?"
    r"^```(?P<language>python|pycon|sh|c)\n(?P<text>.*?)^```$",
    re.M | re.S,
)


class Block(NamedTuple):
    """A fenced block, with the number of its first line, and the folder of tests/frameworks that it is for."""

    language: str
    text: str
    line: int
    folder: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that run somewhere."""
    text = page.read_text("utf-8")
    return [
        Block(
            found["language"], found["text"], text[: found.start("text")].count("\n") + 1, found["folder"] or EVERYWHERE
        )
        for found in _BLOCK.finditer(text)
        if not found["comment"] or found["folder"]
    ]


def run_blocks(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: Sequence[str] = (EVERYWHERE,)
) -> None:
    """Run the blocks of a page that are for one of some folders, in a folder that has the samples."""
    (tmp_path / "pictures").symlink_to(photographs())
    if "videos/" in page.read_text("utf-8"):
        (tmp_path / "videos").symlink_to(videos())
    (tmp_path / "training.dali.json").write_text(json.dumps(GRAPH))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    wanted = [block for block in blocks(page) if block.folder in folders]
    assert wanted or folders == (EVERYWHERE,), f"{page} has no block for {folders}"
    for block in wanted:
        place = f"{page.relative_to(ROOT)}:{block.line}"
        if block.language == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
        elif block.language == "pycon":
            _run_doctest(block.text, names, place)
        elif block.language == "c":
            (tmp_path / block.text.partition("\n")[0].strip("/* ")).write_text(block.text)
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
        elif words[:1] in (["cc"], ["mkdir"]):
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
            subprocess.run(["bash", "-c", line], env={**os.environ, "PATH": path}, check=True)
