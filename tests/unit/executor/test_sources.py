"""Sources alone: fed batches, Python callables, and lists of samples, without a pipeline."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab.executor.plan import make_operator
from dali_lab.executor.sources.inputs import FedInput, PythonInput
from dali_lab.executor.sources.opening import open_source
from dali_lab.graph.graph import Node
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import ArgumentError, OperatorError
from dali_lab.schema.source import Source
from tests.programs import LIMIT


def opened(op: str = "external_source", seed: int = 1, **arguments: Any) -> Source:
    return open_source(make_operator(Node("data", op, "cpu", (), arguments)), seed)


def batch(count: int, dtype: Any = np.uint8) -> np.ndarray[Any, Any]:
    return np.zeros((count, 2), dtype)


def test_batches_are_drawn_in_the_order_in_which_they_were_fed() -> None:
    source = opened()
    assert isinstance(source, FedInput) and not source.ends and not source.ready()
    with pytest.raises(OperatorError, match=r"fn.external_source \(node 'data'\): no batch was fed"):
        source.draw(4)
    source.feed(batch(3), "", 4)
    source.feed(batch(2), "", 4)
    assert source.ready() and [source.draw(4).count, source.draw(4).count] == [3, 2]
    assert not source.ready() and source.state() is None


def test_the_last_batch_is_repeated_where_that_is_declared() -> None:
    source = opened(repeat_last=True, blocking=True)
    source.feed(batch(3), "", 4)
    assert source.draw(4).count == 3 and source.ready() and source.draw(4).count == 3
    source.feed(batch(2), "", 4)
    assert source.draw(4).count == 2


def test_whoever_waits_for_a_batch_ends_when_the_source_is_closed() -> None:
    source = opened(blocking=True)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            source.draw(4)
        except OperatorError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    source.close()
    thread.join(LIMIT)
    assert not thread.is_alive() and "closed while an input waited" in str(raised[0])


def test_data_is_held_to_the_declaration_and_to_the_batches_before() -> None:
    source = opened(dtype=(UINT8,))
    with pytest.raises(OperatorError, match="data"):
        source.feed(batch(3, np.float32), "", 4)
    source = opened()
    source.feed(batch(3), "", 4)
    source.feed(batch(3, np.float32), "", 4)
    source.draw(4)
    with pytest.raises(OperatorError, match="Type of the data fed to the external source has changed"):
        source.draw(4)


def test_a_callable_is_asked_for_each_batch_and_goes_on_from_its_state() -> None:
    asked: list[int] = []

    def give(number: int) -> np.ndarray[Any, Any]:
        if number == 3:
            raise StopIteration
        asked.append(number)
        return batch(4)

    source = opened(source=give)
    assert isinstance(source, PythonInput) and source.ends
    source.draw(4)
    state = source.state()
    source.draw(4)
    source.restore(state)
    source.draw(4)
    source.draw(4)
    with pytest.raises(StopIteration):
        source.draw(4)
    source.reset()
    source.draw(4)
    assert asked == [0, 1, 1, 2, 0] and source.state() == {"iteration": 1, "sample": 4, "epoch": 1}


def test_nothing_can_be_fed_to_a_source_of_its_own() -> None:
    with pytest.raises(ArgumentError, match="Cannot use `feed_input` on the external source"):
        opened(source=lambda: batch(4)).feed(batch(4), "", 4)


def test_two_runs_of_one_reader_know_nothing_of_each_other(tmp_path: Path) -> None:
    for index in range(6):
        (tmp_path / f"{index}.txt").write_bytes(b"x")
    operator = make_operator(
        Node("files", "readers.file", "cpu", (), {"file_root": str(tmp_path), "files": [f"{i}.txt" for i in range(6)]})
    )
    first, second = (open_source(operator, seed) for seed in (1, 2))
    assert first.draw(4).ticket.tolist() == [0, 1, 2, 3] and first.draw(4).ticket.tolist() == [4, 5, 0, 1]
    before = set(vars(operator))  # with the list of files, which all its sources share
    assert second.draw(4).ticket.tolist() == [0, 1, 2, 3]
    second.restore(first.state())
    assert second.draw(4).ticket.tolist() == first.draw(4).ticket.tolist()
    assert set(vars(operator)) == before
    meta = first.meta()
    assert meta is not None and meta["epoch_size"] == 6
