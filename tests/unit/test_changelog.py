"""The changelog has a dated heading for the present version, which the release of its tag takes its text from."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import dali_lab

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def test_versions_have_dates_and_the_newest_is_the_present_one() -> None:
    headings = re.findall(r"^## (.*)$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    first, *released = headings
    assert first == "Unreleased"
    versions = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in released]
    assert all(versions), f"no version and date: {released}"
    assert versions[0] is not None and versions[0][1] == dali_lab.__version__
    days = [date.fromisoformat(found[2]) for found in versions if found]
    assert days == sorted(days, reverse=True)
