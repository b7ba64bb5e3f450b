"""Damaged files of every form are read or refused; ``python -m tests.fuzz`` runs this for long."""

from __future__ import annotations

import importlib.util

import pytest

from tests.fuzz.__main__ import FAILURES
from tests.fuzz.formats import run
from tests.fuzz.running import run as run_target
from tests.fuzz.targets import TARGETS

_NEEDS = {"videos": "av", "lmdb": "lmdb", "fits": "astropy"}


def test_damaged_files_are_read_or_refused() -> None:
    said: list[str] = []
    found = run(1500, tell=said.append)
    assert not found["failed"], said
    assert found["read"] > 50
    assert found["refused"] > 500


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"graphs"}))
def test_each_target(name: str) -> None:
    """A part of it in a process of its own: neither a signal, a hang nor an error that is not the package's."""
    needed = _NEEDS.get(name)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    said: list[str] = []
    found = run_target(name, 40, tell=said.append)
    assert not any(found[key] for key in FAILURES), said
    assert found["read"] + found["refused"] + found["wrapped"] == 40
