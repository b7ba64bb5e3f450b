"""Calls of dynamic mode that come again and again: one engine does them in turn, unless they only look alike."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dali_lab.experimental.dynamic as ndd
from dali_lab.dynamic import repeated
from dali_lab.errors import DaliLabError


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


def test_inputs_in_other_places() -> None:
    one, two = ndd.as_tensor(np.float32([1, 2])), ndd.as_tensor(np.float32([5, 7]))
    for left, right in ((one, two), (two, one), (one, one), (one, two)):
        assert np.asarray(ndd.cat(left, right)).tolist() == [*np.asarray(left), *np.asarray(right)]


def test_after_an_error_and_with_the_line_of_the_call() -> None:
    for width in (3, 9, 3, 9):
        data = ndd.as_tensor(np.zeros((4, width, 1), np.uint8), layout="HWC")
        if width == 9:
            assert ndd.crop(data, crop=(2, 5)).shape == (2, 5, 1)
        else:
            with pytest.raises(DaliLabError, match=r"test_dynamic_loops\.py"):
                ndd.crop(data, crop=(2, 5)).evaluate()


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


def test_few_engines_are_kept() -> None:
    data = ndd.as_tensor(np.zeros(2, np.float32))
    for number in range(2 * repeated._MOST_ENGINES):
        assert np.asarray(data + number).tolist() == [number, number]
    assert 0 < len(repeated._kept) <= repeated._MOST_ENGINES


def test_another_number_of_threads() -> None:
    before = ndd.get_num_threads()
    try:
        for threads in (1, 3, 3, 1):
            ndd.set_num_threads(threads)
            assert [np.asarray(each).shape for each in ndd.flip(images(4, 5, 6))] == [(4, 6, 3), (5, 6, 3), (6, 6, 3)]
    finally:
        ndd.set_num_threads(before)
