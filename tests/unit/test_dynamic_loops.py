"""Calls of dynamic mode that come again and again: one operator runs them all, unless they only look alike."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dali_lab.experimental.dynamic as ndd
from dali_lab.dynamic import kept_calls
from dali_lab.errors import DaliLabError
from dali_lab.types import DALIInterpType
from tests.programs import LIMIT


def images(*heights: int) -> Any:
    return ndd.as_batch([np.full((height, 6, 3), height, np.uint8) for height in heights], layout="HWC")


def test_other_data_each_time() -> None:
    for heights in ((4,), (5, 4), (9, 8, 7), (5, 4), (4,)):
        result = ndd.flip(images(*heights), vertical=1)
        assert [np.asarray(each).shape[0] for each in result] == list(heights)
        assert [int(np.asarray(each).max()) for each in result] == list(heights)


def test_constants_that_are_equal_and_not_the_same() -> None:
    data = ndd.as_tensor(np.array([1, -1], np.int32))
    types = [np.asarray(data * factor).dtype for factor in (2, 2.0, True, 2)]
    assert types == [np.int32, np.float32, np.int32, np.int32]
    made = [np.asarray(ndd.pad(data, fill_value=value, shape=[3]))[2] for value in (5, 6, 5, 7)]
    assert made == [5, 6, 5, 7]


def test_zero_has_two_signs() -> None:
    data = ndd.as_tensor(np.ones(2, np.float32))
    assert [bool(np.signbit(np.asarray(data * factor)[0])) for factor in (0.0, -0.0, 0.0)] == [False, True, False]


def test_tensors_beside_batches() -> None:
    angles = ndd.as_batch([np.float32(90), np.float32(0)])
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    for _ in range(2):
        turned = ndd.rotate(ndd.as_tensor(picture, layout="HWC"), angle=angles, interp_type=DALIInterpType.INTERP_NN)
        assert np.array_equal(np.asarray(turned.tensors[0]), np.rot90(picture))
        assert np.array_equal(np.asarray(turned.tensors[1]), picture)


def test_random_numbers_go_on() -> None:
    def drawn() -> list[float]:
        ndd.random.set_seed(3)
        return [float(ndd.random.uniform(range=[0, 1])) for _ in range(4)]

    values = drawn()
    assert len(set(values)) == 4 and drawn() == values
    assert len({float(ndd.random.uniform(range=[0, 1], seed=5)) for _ in range(3)}) == 1


def test_each_line_is_warned() -> None:
    data = ndd.as_tensor(np.zeros((4, 4, 3), np.uint8), layout="HWC")
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="seed"):
            ndd.flip(data, seed=7)


def test_large_batches_on_threads() -> None:
    pictures = [np.full((400, 500, 3), index, np.uint8) for index in range(8)]
    for _ in range(3):
        small = ndd.resize(ndd.as_batch(pictures, layout="HWC"), size=[2, 3])
        assert [int(np.asarray(each).max()) for each in small] == list(range(8))


def test_inputs_in_other_places() -> None:
    one, two = ndd.as_tensor(np.float32([1, 2])), ndd.as_tensor(np.float32([5, 7]))
    for left, right in ((one, two), (two, one), (one, one), (one, two)):
        assert np.asarray(ndd.cat(left, right)).tolist() == [*np.asarray(left), *np.asarray(right)]


def by_name(data: Any) -> None:
    narrow = ndd.crop(data, crop=(2, 5))
    narrow.evaluate()


def by_another_name(data: Any) -> None:
    small = ndd.crop(data, crop=(2, 5))
    small.evaluate()


def test_after_an_error_and_with_the_line_of_the_call() -> None:
    for width in (3, 9, 3, 9):
        data = ndd.as_tensor(np.zeros((4, width, 1), np.uint8), layout="HWC")
        if width == 9:
            assert ndd.crop(data, crop=(2, 5)).shape == (2, 5, 1)
        else:
            for crop, name in ((by_name, "narrow"), (by_another_name, "small")):
                with pytest.raises(DaliLabError, match=rf"(?s)node '{name}'.*test_dynamic_loops\.py"):
                    crop(data)


def test_threads_that_call_the_same_line() -> None:
    wrong = []

    def work(number: int) -> None:
        for turn in range(30):
            value = number * 100 + turn
            if np.asarray(ndd.as_tensor(np.int32([value])) + 1).tolist() != [value + 1]:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_few_calls_are_kept() -> None:
    data = ndd.as_tensor(np.zeros(2, np.float32))
    for number in range(2 * kept_calls.MOST_KEPT):
        assert np.asarray(data + number).tolist() == [number, number]
    assert 0 < len(kept_calls._kept) <= kept_calls.MOST_KEPT


def test_another_number_of_threads_leaves_those_that_run_alone() -> None:
    data = ndd.as_batch([np.zeros((300, 300, 3), np.uint8)] * 16)
    begun, before = threading.Event(), ndd.get_num_threads()

    def work() -> None:
        for _ in range(60):
            ndd.flip(data)
            begun.set()

    other = threading.Thread(target=work, daemon=True)
    try:
        ndd.set_num_threads(2)
        other.start()
        assert begun.wait(LIMIT)
        for number in range(60):
            ndd.set_num_threads(2 + number % 2)
            ndd.flip(data)
        other.join(LIMIT)
        assert not other.is_alive()
    finally:
        ndd.set_num_threads(before)


def test_another_number_of_threads() -> None:
    before = ndd.get_num_threads()
    try:
        for threads in (1, 3, 3, 1):
            ndd.set_num_threads(threads)
            assert [np.asarray(each).shape for each in ndd.flip(images(4, 5, 6))] == [(4, 6, 3), (5, 6, 3), (6, 6, 3)]
    finally:
        ndd.set_num_threads(before)
