"""Lists of tensors behave and print as NVIDIA DALI's do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dali_lab.tensors as ours
from dali_lab import types
from dali_lab.errors import DaliLabError
from dali_lab.model.batch import Batch
from tests.together import with_each

theirs = pytest.importorskip("nvidia.dali.tensors", reason="NVIDIA DALI is the oracle of these tests")
MODULES = (ours, theirs)


def ragged(module: Any, layout: str = "HW") -> Any:
    return module.TensorListCPU(
        [module.TensorCPU(np.full(shape, fill, np.uint8), layout) for fill, shape in enumerate([(2, 3), (1, 3)])]
    )


def dense(module: Any, layout: str = "HW") -> Any:
    return module.TensorListCPU(np.arange(12, dtype=np.float32).reshape(2, 2, 3), layout=layout)


def both(make: Callable[[Any], Any]) -> tuple[Any, Any]:
    return make(ours), make(theirs)


@with_each("dtype", ["uint8", "int64", "float32", "float16", "float64", "bool"])
@with_each(
    "shape",
    [
        (3,),
        (1, 1),
        (2, 0),
        (4, 2, 3),
        (2, 50, 60),
        (6, 3),
        (7, 40, 5),
        (30,),
        (17, 2),
        (21, 1, 1, 1, 1),
        (8, 20, 20, 3),
        (1, 2, 3, 4, 5),
    ],
)
@with_each("layout", ["", "letters"])
def test_printed_form_of_dense_lists(shape: tuple[int, ...], dtype: str, layout: str) -> None:
    data = (np.arange(int(np.prod(shape))) * 0.37).reshape(shape).astype(dtype)
    letters = "ABCDEFGH"[: len(shape) - 1] if layout else None
    own, other = both(lambda module: module.TensorListCPU(data, layout=letters))
    assert str(own) == str(other)
    assert repr(own) == repr(other)
    one, same = both(lambda module: module.TensorCPU(data, layout=None if letters is None else "N" + letters))
    assert str(one) == str(same)
    assert repr(one) == repr(same)


@given(
    shapes=st.integers(0, 3).flatmap(
        lambda ndim: st.lists(st.lists(st.integers(0, 30), min_size=ndim, max_size=ndim), min_size=1, max_size=24)
    )
)
@settings(max_examples=60, deadline=None)
def test_printed_form_of_ragged_lists(shapes: list[list[int]]) -> None:
    arrays = [np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape) for shape in shapes]
    own, other = both(lambda module: module.TensorListCPU([module.TensorCPU(array) for array in arrays]))
    assert str(own) == str(other)
    assert repr(own) == repr(other)


def test_empty_lists() -> None:
    own, other = both(lambda module: module.TensorListCPU([]))
    assert str(own) == str(other)
    assert (len(own), own.shape(), own.dtype.name) == (len(other), other.shape(), other.dtype.name)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "length": len,
    "shape": lambda tensors: tensors.shape(),
    "layout": lambda tensors: tensors.layout(),
    "ndim": lambda tensors: tensors.ndim(),
    "dtype": lambda tensors: tensors.dtype.name,
    "is_dense": lambda tensors: tensors.is_dense_tensor(),
    "at": lambda tensors: tensors.at(1).tolist(),
    "item": lambda tensors: np.asarray(tensors[-1]).tolist(),
    "item_shape": lambda tensors: tensors[0].shape(),
    "item_layout": lambda tensors: tensors[0].layout(),
    "items": lambda tensors: [np.array(tensor).tolist() for tensor in tensors],
    "as_cpu": lambda tensors: tensors.as_cpu().shape(),
    "reshaped": lambda tensors: np.array(
        tensors.as_reshaped_tensor([3, -(-sum(map(np.prod, tensors.shape())) // 3)])
    ).tolist(),
}


@with_each("question", QUESTIONS)
@with_each("make", [dense, ragged])
def test_answers(make: Callable[[Any], Any], question: str) -> None:
    own, other = both(make)
    assert QUESTIONS[question](own) == QUESTIONS[question](other)


def test_dense_list_as_one() -> None:
    own, other = both(dense)
    assert np.array_equal(own.as_array(), other.as_array())
    assert str(own.as_tensor()) == str(other.as_tensor())
    assert np.array_equal(np.asarray(own), np.asarray(other))
    assert own.as_tensor().layout() == "NHW"


def test_list_of_numbers_as_one() -> None:
    own, other = both(lambda module: module.TensorListCPU(np.float32([1, 2])).as_tensor())
    assert own.layout() == other.layout() == "N"


def test_list_that_is_not_put_together() -> None:
    own, other = both(lambda module: module.TensorListCPU([module.TensorCPU(np.arange(2))] * 2, contiguous=False))
    assert str(own) == str(other)


FAILURES: list[tuple[Callable[[Any], Any], type[Exception]]] = [
    (lambda m: dense(m)[2], IndexError),
    (lambda m: dense(m).at(2), RuntimeError),
    (lambda m: dense(m).at(-1), RuntimeError),
    (lambda m: ragged(m).as_array(), RuntimeError),
    (lambda m: ragged(m).as_tensor(), RuntimeError),
    (lambda m: dense(m).as_reshaped_tensor([5]), RuntimeError),
    (lambda m: dense(m, "HWC"), ValueError),
    (lambda m: dense(m).set_layout("ABC"), ValueError),
    (lambda m: m.TensorCPU(np.zeros(3), "HW"), ValueError),
    (lambda m: m.TensorCPU(5), TypeError),
    (lambda m: m.TensorCPU([1, 2]), TypeError),
    (lambda m: m.TensorListCPU(5), TypeError),
    (lambda m: m.TensorListCPU(["a"]), TypeError),
    (lambda m: m.TensorListCPU(np.array(3.0)), RuntimeError),
    (lambda m: m.TensorListCPU([m.TensorCPU(np.zeros(3)), m.TensorCPU(np.zeros((3, 1)))]), TypeError),
    (lambda m: m.TensorListCPU([m.TensorCPU(np.zeros(3)), m.TensorCPU(np.zeros(3, np.uint8))]), TypeError),
    (lambda m: m.TensorCPU(np.zeros((4, 4))[:, ::2]), RuntimeError),
    (lambda m: m.TensorCPU(np.zeros((4, 3)).T), RuntimeError),
    (lambda m: m.TensorCPU(np.array(["x"])), RuntimeError),
    (lambda m: dense(m).reinterpret(_kind(m).UINT8), RuntimeError),
    (lambda m: m.TensorCPU(np.zeros(3)).squeeze(5), RuntimeError),
    (lambda m: m.TensorListCPU.from_dlpack_list([5]), TypeError),
    (lambda m: m.TensorListCPU.from_dlpack_list([np.zeros(3), np.zeros(3, np.uint8)]), TypeError),
    (lambda m: m.TensorListCPU.from_dlpack_list([np.zeros(3), np.zeros((3, 1))]), RuntimeError),
]


def _kind(module: Any) -> Any:
    if module is ours:
        return types.DALIDataType
    import nvidia.dali.types as dali_types

    return dali_types.DALIDataType


@with_each("index", range(len(FAILURES)))
def test_failures_are_of_the_same_kind(index: int) -> None:
    action, kind = FAILURES[index]
    for module in MODULES:
        with pytest.raises(kind):
            action(module)


def test_changes() -> None:
    for module in MODULES:
        tensors = dense(module)
        tensors.reinterpret(_kind(module).INT32)
        assert tensors.dtype.name == "INT32"
        tensors.set_layout("AB")
        assert tensors.layout() == "AB"
        tensors.set_layout(None)
        assert tensors.layout() == ""
        tensors.reset()
        assert len(tensors) == 0
        tensor = module.TensorCPU(np.zeros((1, 3, 1), np.float32), "HWC")
        assert tensor.squeeze(0) is True
        assert (tensor.shape(), tensor.layout()) == ([3, 1], "WC")
        assert tensor.squeeze(0) is False
        assert tensor.squeeze() is True
        assert (tensor.shape(), tensor.layout()) == ([3], "W")


def test_a_changed_tensor_leaves_its_list_alone() -> None:
    tensors = dense(ours)
    tensor = tensors[0]
    tensor.set_layout("AB")
    tensor.reinterpret(types.INT32)
    assert (tensors.layout(), tensors.dtype) == ("HW", types.FLOAT)
    assert tensor.layout() == "AB"


def test_properties_and_sources() -> None:
    own, other = both(lambda module: module.TensorCPU(np.zeros((2, 3)), "HW"))
    for name in ("layout", "source_info", "x"):
        assert own.get_property(name) == other.get_property(name)
    assert own.source_info() == other.source_info() == ""
    batch = Batch.of([np.zeros(2), np.ones(3)])
    batch.sources = ("a.jpg", "b.jpg")
    tensors = ours.TensorListCPU(batch)
    assert [tensor.source_info() for tensor in tensors] == ["a.jpg", "b.jpg"]
    assert tensors[1].get_property("source_info") == "b.jpg"


def test_memory_is_shared_both_ways() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = ours.TensorCPU(array, "HW")
    array[0, 0] = 42
    assert np.asarray(tensor)[0, 0] == 42
    assert tensor.data_ptr() == array.ctypes.data
    view = np.from_dlpack(tensor)
    view_address = view.ctypes.data
    assert view_address == array.ctypes.data
    assert tensor.__array_interface__["data"][0] == array.ctypes.data
    assert tensor.__dlpack_device__() == (1, 0)
    again = ours.TensorCPU(tensor.__dlpack__())
    assert again.data_ptr() == array.ctypes.data


def test_arrays_outlive_their_list() -> None:
    tensors = ours.TensorListCPU(Batch.allocate(np.array([[1000, 1000]]), types.FLOAT))
    sample = tensors.at(0)
    sample[...] = 7
    view = np.from_dlpack(tensors[0])
    del tensors, sample
    junk = [np.zeros(1_000_000, np.float32) for _ in range(3)]
    assert (view == 7).all()
    assert len(junk) == 3


@pytest.mark.parametrize("make", [dense, ragged])
def test_copy_to_external(make: Callable[[Any], Any]) -> None:
    tensors = make(ours)
    expected = np.concatenate([tensors.at(i).reshape(-1) for i in range(len(tensors))])
    for target in (lambda out: ctypes.c_void_p(out.ctypes.data), lambda out: out.ctypes.data, lambda out: out):
        out = np.zeros_like(expected)
        tensors.copy_to_external(target(out))
        assert np.array_equal(out, expected)
    with pytest.raises(TypeError):
        tensors.copy_to_external("here")
    for nowhere in (0, ctypes.c_void_p(None)):
        with pytest.raises(ValueError, match="address 0"):
            tensors.copy_to_external(nowhere)
    ours.TensorListCPU(np.zeros((0, 3), np.float32)).copy_to_external(0)


def test_broadcast() -> None:
    own, other = both(lambda m: m.TensorListCPU.broadcast(m.TensorCPU(np.arange(3), "X"), 4))
    assert str(own) == str(other)
    assert (own.as_array() == np.arange(3)).all()


def test_lists_on_the_gpu_answer_as_cpu() -> None:
    tensors = dense(ours)._as_gpu()
    assert isinstance(tensors, ours.TensorListGPU)
    assert repr(tensors).startswith("TensorListGPU(")
    assert 'device="gpu"' in repr(tensors)
    cpu = tensors.as_cpu()
    assert type(cpu) is ours.TensorListCPU
    assert np.array_equal(cpu.as_array(), dense(ours).as_array())
    assert np.array_equal(np.asarray(tensors.at(0).as_cpu()), cpu.at(0))


def test_scattered_samples_of_one_shape_are_one_tensor() -> None:
    tensors = ours.TensorListCPU(Batch.of([np.full((2, 2), i, np.int16) for i in (3, 1, 2)]))
    assert tensors.is_dense_tensor()
    assert tensors.as_array()[:, 0, 0].tolist() == [3, 1, 2]
    assert tensors.as_tensor().data_ptr() == tensors.data_ptr()
    with pytest.raises(DaliLabError, match="different shapes"):
        ragged(ours).as_array()
