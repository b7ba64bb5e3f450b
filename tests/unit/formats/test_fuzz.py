"""Damaged files of every form are read or refused; ``python -m tests.fuzz.formats`` runs this for long."""

from __future__ import annotations

from tests.fuzz.formats import run


def test_damaged_files_are_read_or_refused() -> None:
    said: list[str] = []
    found = run(1500, tell=said.append)
    assert not found["failed"], said
    assert found["read"] > 50
    assert found["refused"] > 500
