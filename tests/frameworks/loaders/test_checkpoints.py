"""Iterators go on from checkpoints both ways: NVIDIA DALI's continue here, and ours continue there."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.conformance.test_checkpoints import BOTH, READERS, files, make

__all__ = ["files"]  # a fixture


@pytest.mark.parametrize(("first", "second"), [("here", "there"), ("there", "here")])
def test_iterators_go_on(files: list[str], first: str, second: str) -> None:
    def iterate(package: Any, saved: list[bytes] | None = None) -> Any:
        plugin = importlib.import_module(f"{package.__name__}.plugin.pytorch")
        pipeline = make(package, files, READERS["shuffled"], None if saved is None else saved[0])
        names = ["label", "index", "scaled", "noisy", "named", "shuffled"]
        return plugin.DALIGenericIterator([pipeline], names, reader_name="Reader", auto_reset=True)

    def labels(iterator: Any) -> list[Any]:
        return [batch[0]["label"].flatten().tolist() for batch in iterator]

    whole = iterate(BOTH[first])
    next(whole)
    next(whole)
    saved = whole.checkpoints()
    expected = [next(whole)[0]["label"].flatten().tolist() for _ in range(2)]
    resumed = iterate(BOTH[second], saved)
    assert labels(resumed) == expected
