"""Names of NVIDIA DALI beside its documented ones give the same answers in both engines."""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dali_lab.dynamic as ndd
from dali_lab import backend, compat
from dali_lab.dynamic import classes
from dali_lab.interop import multiproc
from dali_lab.private_names import MODULES, private_module
from tests.together import with_each


@pytest.fixture
def installed() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


TABLES = [name for name, names in MODULES.items() if not isinstance(names, str)]
OF_TORCHVISION = [name for name in TABLES if name.startswith("experimental.torchvision.")]
OTHERS = [name for name in TABLES if name not in OF_TORCHVISION]


def missing_there(name: str) -> list[str]:
    """Names of our module that NVIDIA DALI's has not."""
    theirs = importlib.import_module(f"nvidia.dali.{name}")
    return [each for each in MODULES[name] if not hasattr(theirs, each)]


def missing_here(name: str) -> list[str]:
    """Names of a module that stand for nothing here; the alias has to be installed."""
    own = importlib.import_module(f"nvidia.dali.{name}")
    assert own.__name__ == f"nvidia.dali.{name}"
    return [each for each in MODULES[name] if not callable(getattr(own, each))]


@with_each("name", OTHERS)
def test_nvidia_dali_has_each_private_name(name: str) -> None:
    assert missing_there(name) == []


@pytest.mark.parametrize("name", OTHERS)
def test_each_private_name_stands_for_something_here(installed: None, name: str) -> None:
    assert missing_here(name) == []


def test_functions_of_dynamic_mode_tell_what_their_operators_are_as_there() -> None:
    import nvidia.dali.experimental.dynamic as theirs
    from nvidia.dali.experimental.dynamic import _ops

    for made in (ndd.resize, ndd.random.coin_flip, ndd.decoders.image, ndd.reductions.sum, ndd.mfcc):
        own = made._op_class
        other = getattr(_ops, own._op_name, None) or _found(theirs, own._fn_path)._op_class
        for name in _TOLD:
            assert getattr(own, name) == getattr(other, name), name
    assert set(_TOLD) <= set(dir(ndd.readers.File))
    assert {made._fn_path for made in _ops._all_ops if not made._is_reader} & {"resize"}
    assert {made._op_path for made in classes._all_ops} >= {"readers.File", "Resize", "random.Uniform"}


_TOLD = ("_supported_backends", "_schema_name", "_op_name", "_op_path", "_fn_name", "_fn_path", "_is_reader")
_TOLD += ("_is_stateful", "_has_random_state_arg")


def _found(module: Any, path: str) -> Any:
    return functools.reduce(getattr, path.split("."), module)


def test_objects_of_operators_keep_their_constants_and_their_own_random_numbers() -> None:
    flip = classes.Flip(horizontal=1, vertical=0)
    assert np.asarray(flip(ndd.tensor(np.arange(3).reshape(1, 3, 1), layout="HWC"))).ravel().tolist() == [2, 1, 0]
    first, second = (classes.random.Uniform(seed=7) for _ in range(2))
    one = np.asarray(first(range=[0.0, 1.0], shape=[4]))
    assert np.array_equal(one, np.asarray(second(range=[0.0, 1.0], shape=[4])))
    assert not np.array_equal(one, np.asarray(first(range=[0.0, 1.0], shape=[4])))


def test_callbacks_run_in_processes_of_a_pool() -> None:
    group = SimpleNamespace(
        source_desc=multiproc.callback_and_description(lambda info: np.array([info.idx_in_epoch]), None)[1], batch=False
    )
    pool = multiproc.WorkerPool.from_groups([group], 1, num_workers=2)
    with contextlib.closing(pool):
        for start in (0, 5):
            samples = multiproc.SampleRange(start, start + 5, 0, 0)
            pool.schedule_batch(0, multiproc.TaskArgs.make_sample(samples))
        pool.schedule_batch(0, multiproc.TaskArgs.make_sample(multiproc.SampleRange(3, 9, 0, 0, slice_start=2)))
        assert len(pool.contexts[0].task_queue) == 3
        numbers = [np.concatenate(pool.receive_batch(0)).tolist() for _ in range(3)]
    assert numbers == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [5, 6, 7, 8]]


def test_messages_and_batches_lie_in_shared_memory() -> None:
    with contextlib.closing(multiproc.BufShmChunk.allocate("chunk", 100)) as chunk:
        meta = multiproc.SharedBatchMeta.from_writer(multiproc.SharedBatchWriter(chunk, [np.full((9, 9), 42)]))
        assert np.array_equal(multiproc.deserialize_batch(chunk, meta), [np.full((9, 9), 42)])
    with contextlib.closing(multiproc.ShmQueue(multiprocessing, 2)) as queue:
        queue.put([multiproc.ShmMessageDesc(1, -2, 3, 4, number) for number in (5, 6)])
        with pytest.raises(RuntimeError, match="The queue is full"):
            queue.put([multiproc.ShmMessageDesc(1, 2, 3, 4, 7)])
        (first,) = queue.get() or ()
        assert first.get_values() == (1, -2, 3, 4, 5)


def test_other_private_names_are_refused_by_name(installed: None) -> None:
    from nvidia.dali import _conditionals as conditionals

    with pytest.raises(AttributeError, match=r"no 'nvidia\.dali\._conditionals\._stack_of_conditions'"):
        _ = conditionals._stack_of_conditions
    assert private_module("_nothing") is None


def test_capsules_are_told_apart_as_there() -> None:
    from nvidia.dali import backend as theirs

    array = np.zeros(3, np.float32)
    assert backend.CheckDLPackCapsule(None) == theirs.CheckDLPackCapsule(None) == (False, False)
    assert backend.CheckDLPackCapsule(array.__dlpack__()) == theirs.CheckDLPackCapsule(array.__dlpack__())


def test_without_a_gpu_there_are_none() -> None:
    from nvidia.dali import backend as theirs

    if theirs.GetCUDADeviceCount() == 0:
        assert backend.GetCUDADeviceCount() == 0


def test_unused_arguments_of_augmentations_are_listed_in_their_words() -> None:
    from nvidia.dali.auto_aug.core import _args as theirs

    from dali_lab.auto_aug import augmentations as own_augmentations
    from dali_lab.auto_aug.core.wrapping import forbid_unused

    for unused in ({"amiss": 1}, {"amiss": 1, "amiss_too": 2}):
        with pytest.raises(Exception, match="not used by any of the augmentations") as refused:
            theirs.forbid_unused_kwargs([], unused, "caller")
        words = str(refused.value).partition("not used")[0].partition("`")
        with pytest.raises(ValueError, match="not used by any of the augmentations") as ours:
            forbid_unused([own_augmentations.rotate], unused, "caller")
        assert words[1] + words[2] in str(ours.value)
