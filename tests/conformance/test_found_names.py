"""Names and values at the edges of NVIDIA DALI's interface that its own tests and public programs use."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
import dali_lab.dynamic as ours
from dali_lab import backend, compat, sysconfig
from dali_lab.schema.cases import Case
from tests.conformance.harness import compare, run
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
theirs = pytest.importorskip("nvidia.dali.experimental.dynamic")
import nvidia.dali.backend  # noqa: E402
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

PICTURES = [np.arange(48, dtype=np.uint8).reshape(4, 4, 3)] * 2


@pytest.mark.parametrize("more", [{}, {"scale": 2.0, "shift": 1.0}, {"crop": (2, 3), "mirror": 1}])
def test_two_empty_lists_leave_values_as_they_are(more: dict[str, Any]) -> None:
    case = Case(((PICTURES, "HWC"),), {"mean": [], "std": [], **more})
    operator = "crop_mirror_normalize"
    compare(run(dali_lab, operator, case), run(dali, operator, case), case)


def test_one_empty_list_is_refused() -> None:
    # NVIDIA DALI 2.4 divides by zero and ends the process where the other list has one value.
    for arguments in ({"mean": []}, {"std": []}, {"mean": [], "std": [1.0, 2.0, 3.0]}):
        with pytest.raises(RuntimeError, match="got 0"):
            run(dali_lab, "crop_mirror_normalize", Case(((PICTURES, "HWC"),), arguments))


@with_each("name", ["Crop", "CropMirrorNormalize", "decoders__Image", "Normalize", "Resize"])
@with_each("device", ["cpu", "gpu", "mixed", None])
def test_inputs_are_read_where_the_operator_runs(name: str, device: str | None) -> None:
    def asked(engine: Any) -> Any:
        return engine.backend.GetSchema(name).GetInputDevice(0, None, device)

    assert asked(dali_lab) == asked(dali) == device


@pytest.mark.parametrize(("name", "index"), [("Reshape", 1), ("Reinterpret", 1)])
def test_shapes_are_read_on_the_cpu(name: str, index: int) -> None:
    own, other = backend.GetSchema(name), dali.backend.GetSchema(name)
    for actual in (None, "cpu", "gpu"):
        for device in ("cpu", "gpu"):
            assert own.GetInputDevice(index, actual, device) == other.GetInputDevice(index, actual, device) == "cpu"


def test_bfloat16_is_a_type_without_tensors() -> None:
    own, other = ours.bfloat16, theirs.bfloat16
    for name in ("name", "bits", "bytes", "exponent_bits", "significand_bits", "type_id"):
        assert getattr(own, name) == getattr(other, name), name
    assert own == ours.dtype("bfloat16") and own != ours.float16
    for engine in (ours, theirs):
        with pytest.raises((ValueError, KeyError)):
            engine.tensor([1, 2], dtype=engine.bfloat16)
    with pytest.raises(ValueError, match="no tensors of bfloat16"):
        ours.zeros(shape=[2], dtype=ours.bfloat16)


@pytest.mark.parametrize("engine", [ours, theirs], ids=["ours", "theirs"])
def test_contexts_share_a_thread_pool(engine: Any) -> None:
    pool = engine.ThreadPool(2)
    first, second = engine.EvalContext(thread_pool=pool), engine.EvalContext(thread_pool=pool)
    assert first.thread_pool is second.thread_pool is pool
    for context in (first, second):
        with context:
            total = engine.batch(PICTURES) + 1
            assert np.array_equal(np.asarray(total.tensors[1]), PICTURES[1] + 1)
    assert (pool.num_threads, pool.device_id, first.num_threads) == (2, None, 2)
    assert engine.ThreadPool().num_threads == engine.get_num_threads()
    with pytest.raises(ValueError, match="`thread_pool` and `num_threads` cannot be specified together"):
        engine.EvalContext(thread_pool=pool, num_threads=2)


def test_impossible_thread_pools_are_refused() -> None:
    for number, error in ((0, ValueError), (-1, ValueError), ("2", TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="num_threads must be"):
            ours.ThreadPool(number)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Device ID clash"):
        ours.EvalContext(thread_pool=ours.ThreadPool(1, device_id=1), device_id=0)


@pytest.mark.parametrize("which", [1, -1, [0, 2], [0, 0], slice(1, None), slice(None), ...], ids=repr)
def test_samples_are_selected_from_lists_of_tensors(which: Any) -> None:
    data = [[1, 2], [3, 4], [5, 6]]

    def selected(engine: Any) -> Any:
        part = engine.batch(data).tensors.select(which)
        if isinstance(part, engine.Tensor):
            return np.asarray(part).tolist()
        return [np.asarray(each).tolist() for each in (part if which is ... else part.tolist())]

    assert selected(ours) == selected(theirs)


def test_select_gives_what_is_documented() -> None:
    # NVIDIA DALI 2.4 gives the whole batch for lists and slices, against its documentation.
    batch = ours.batch([[1, 2], [3, 4], [5, 6]])
    for which, wanted in (([2, 0], [[5, 6], [1, 2]]), (slice(1, None), [[3, 4], [5, 6]])):
        part = batch.select(which)
        assert isinstance(part, ours.Batch)
        assert [np.asarray(each).tolist() for each in part.tensors] == wanted
    for engine in (ours, theirs):
        assert np.asarray(engine.batch([[1, 2], [3, 4]]).select(1)).tolist() == [3, 4]


def test_private_modules_come_from_their_parents_too() -> None:
    compat.install()
    try:
        from nvidia.dali.auto_aug.core import _args
        from nvidia.dali.experimental.dynamic import _batch, _thread_pool

        assert _batch.Batch is ours.Batch and _thread_pool.ThreadPool is ours.ThreadPool
        assert callable(_args.forbid_unused_kwargs)
        settings = importlib.import_module("nvidia.dali.sysconfig")
        assert settings is sysconfig
    finally:
        compat.uninstall()


def test_folders_and_flags_to_compile_with() -> None:
    from nvidia.dali import sysconfig as other

    assert set(sysconfig.__all__) <= set(dir(other))
    assert sysconfig.get_lib_dir() == dali_lab.__path__[0]
    assert (Path(sysconfig.get_include_dir()) / "dali_lab.h").exists()
    assert sysconfig.get_compile_flags() == [f"-I{sysconfig.get_include_dir()}"] and not sysconfig.get_link_flags()


def test_numba_functions_are_for_the_cpu() -> None:
    from dali_lab.plugin.numba import NumbaFunction

    assert NumbaFunction._check_minimal_numba_version(False) is False
    with pytest.raises(RuntimeError, match=r"run on the CPU; dali_lab\.plugin\.cuda"):
        NumbaFunction._check_minimal_numba_version()
