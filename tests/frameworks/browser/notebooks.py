"""A notebook with an editor in it, for the tests of every application that shows notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dali_lab.gallery.samples import photographs
from tests.frameworks.browser.conftest import Tab

DEFINE = """
import dali_lab
from dali_lab import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=1, seed=3)
def pictures():
    encoded, label = fn.readers.file(file_root={root!r}, name="reader")
    image = fn.decoders.image(encoded, name="decode")
    return fn.resize(image, size=[64, 64], name="resize"), label

pipe = pictures()
editor = dali_lab.edit(pipe, height=420)
editor
"""
"""A cell that ends with the editor; `{root!r}` stands for the folder of photographs."""
ASK = 'print("size", pipe.graph.nodes["resize"].arguments["size"], list(editor.graph.nodes))'
"""A cell that prints what the editor holds."""


def write_notebook(path: Path, cells: list[str]) -> None:
    """Write a notebook whose cells have not run."""
    entries = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": cell.replace("{root!r}", repr(str(photographs()))).strip(),
        }
        for i, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": entries, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def wait_for_kernel(tab: Tab) -> None:
    """Wait until cells can run: the page takes keys, and shows an idle kernel, before it has one."""
    tab.page.wait_for_selector(".jp-CodeCell")
    tab.page.wait_for_function(
        """() => {
          const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
          const kernel = context?.session?.kernel;
          return context?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
        }"""
    )


def run_cell(tab: Tab, index: int) -> Any:
    """Run a cell; its output."""
    cell = tab.page.locator(".jp-CodeCell").nth(index)
    cell.locator(".jp-InputPrompt").click()
    tab.page.keyboard.press("Control+Enter")
    return cell.locator(".jp-OutputArea")


def duplicate_the_resize(tab: Tab) -> None:
    """Select the node `resize` in the editor that a cell shows, and duplicate it by keyboard."""
    tab.fit()
    tab.choose("resize")
    tab.page.keyboard.press("Control+d")
    tab.idle()
