"""Names of NVIDIA DALI beside its documented ones give the same answers in both engines."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest

from dali_lab import backend, compat
from dali_lab.private_names import MODULES, private_module


@pytest.fixture
def installed() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.parametrize("name", MODULES)
def test_nvidia_dali_has_each_private_name(name: str) -> None:
    theirs = importlib.import_module(f"nvidia.dali.{name}")
    assert [each for each in MODULES[name] if not hasattr(theirs, each)] == []


@pytest.mark.parametrize("name", MODULES)
def test_each_private_name_stands_for_something_here(installed: None, name: str) -> None:
    own = importlib.import_module(f"nvidia.dali.{name}")
    assert own.__name__ == f"nvidia.dali.{name}"
    assert all(callable(getattr(own, each)) for each in MODULES[name])


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


def test_a_stream_is_none_or_refused() -> None:
    import dali_lab.dynamic as ndd

    assert ndd.stream(stream=None) is None
    for make in (ndd.stream, ndd.Stream):
        with pytest.raises(RuntimeError, match="streams of the executor's own"):
            make()
