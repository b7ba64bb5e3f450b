"""Operators called on lists of inputs: one node for each element, all of them with one seed, as in NVIDIA DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.fn
import dali_lab.ops
from dali_lab import formats
from dali_lab.errors import FormatError
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import writer as python_code

dali = pytest.importorskip("nvidia.dali")


def _define(engine: Any) -> list[Any]:
    fn = engine.fn
    zero = fn.zeros(shape=[1])
    noisy = fn.noise.gaussian([zero, zero, zero])
    alone = fn.noise.gaussian(zero)
    drawn = fn.random.uniform([zero, noisy[0]], range=[0.0, 9.0])
    (only,) = [fn.random.normal([zero])]
    again = engine.ops.noise.Gaussian()
    return [noisy[2], alone, noisy[0], noisy[1], *drawn, only, again(zero), *again([zero, zero])]


def _pipeline(engine: Any) -> Any:
    pipe = engine.Pipeline(3, 2, None, seed=1234)
    with pipe:
        pipe.set_outputs(*_define(engine))
    return pipe


def _values(pipe: Any) -> list[list[float]]:
    pipe.build()
    return [np.asarray(output.as_array()).ravel().tolist() for output in pipe.run()]


@pytest.fixture(scope="module")
def expected() -> list[list[float]]:
    return _values(_pipeline(dali))


def test_all_members_have_one_seed(expected: list[list[float]]) -> None:
    assert _values(_pipeline(dali_lab)) == expected
    assert expected[0] == expected[2] == expected[3] != expected[1]


def test_all_forms_keep_it(expected: list[list[float]]) -> None:
    pipe = _pipeline(dali_lab)
    graph = pipe.graph
    assert json_file.loads(json_file.dumps(graph)) == graph
    assert formats.loads(python_code.dumps(graph)) == graph
    data = dali_proto.dumps(graph)
    assert dali_proto.loads(data) == graph
    assert _values(dali.Pipeline.deserialize(data)) == expected
    assert _values(dali_lab.Pipeline.deserialize(_pipeline(dali).serialize())) == expected


def test_a_program_for_nvidia_dali_is_refused_by_name() -> None:
    with pytest.raises(FormatError, match="lists of inputs"):
        python_code.dumps(_pipeline(dali_lab).graph, "nvidia.dali")


def test_results_are_shaped_as_there() -> None:
    for engine in (dali, dali_lab):
        with engine.Pipeline(2, 2, None):
            data = engine.fn.zeros(shape=[5])
            begins, lengths = engine.fn.nonsilent_region([data, data])
            assert len(begins) == len(lengths) == 2
            assert not isinstance(engine.fn.copy([data]), list)
            assert isinstance(engine.fn.copy([data, data]), list)


@pytest.mark.parametrize("engine", [dali, dali_lab], ids=["NVIDIA DALI", "DALI Lab"])
def test_python_functions_take_no_lists(engine: Any) -> None:
    def same(sample: np.ndarray) -> np.ndarray:
        return sample

    with engine.Pipeline(2, 2, None):
        data = engine.fn.zeros(shape=[5])
        for inputs in ([data, data], [data]):
            with pytest.raises(TypeError, match="list"):
                engine.fn.python_function(inputs, function=same)
            with pytest.raises(TypeError, match="list"):
                engine.ops.PythonFunction(function=same)(inputs)
