"""The chart of the first pages shows the table of the page about speed."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_chart_is_drawn_from_the_table() -> None:
    made = runpy.run_path(str(DOCS / "speed_chart.py"))
    ratios = made["ratios"]((DOCS / "explanation" / "speed.md").read_text("utf-8"))
    assert len(ratios) == 10
    assert (DOCS / "speed.svg").read_text("utf-8") == made["chart"](ratios)
