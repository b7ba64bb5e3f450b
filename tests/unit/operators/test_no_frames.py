"""Sequences without frames: operators give sequences without frames, or refuse them in words."""

from __future__ import annotations

import dataclasses

import numpy as np

import dali_lab
from dali_lab import DaliLabError
from dali_lab.schema import find_operator
from tests.conformance.harness import run
from tests.together import with_each
from tests.unit.operators.test_bad_input import CASES, refused


def pictures(name: str) -> list[np.ndarray]:
    """The pictures that an operator's first case has."""
    given = CASES[name].inputs[0]
    return [np.asarray(array) for array in (given[0] if isinstance(given, tuple) else given)]


TAKE_SEQUENCES = [name for name in CASES if find_operator(name).frames and pictures(name)[0].ndim == 3]


@with_each("name", TAKE_SEQUENCES)
def test_sequences_without_frames(name: str) -> None:
    case = CASES[name]
    empty = [np.empty((0, *array.shape), array.dtype) for array in pictures(name)]
    changed = dataclasses.replace(case, inputs=((empty, "FHWC"), *case.inputs[1:]))
    try:
        samples = run(dali_lab, name, changed)[0][0]["samples"]
    except DaliLabError as error:
        refused(error)
    else:
        assert [sample.shape[0] for sample in samples] == [0] * len(empty)
