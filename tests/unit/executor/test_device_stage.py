"""Stages on a device alone: one stage of one batch on the emulated GPU, without an engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dali_lab.device.emulated import EmulatedDevice
from dali_lab.device.transfer import download
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.device_stage import DeviceRunner
from dali_lab.executor.device_state import DeviceState
from dali_lab.executor.plan import Stage, Step, make_operator
from dali_lab.executor.pool import InlinePool
from dali_lab.graph.graph import Edge, Node
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OutOfDeviceMemory
from dali_lab.schema import Call
from tests.unit.executor.stages import SOURCE, Function, FunctionStep, plan

OUT = Edge("last")


def pictures() -> Batch:
    return Batch.of([np.full((3, 4, 3), index, np.uint8) for index in range(4)], "HWC")


def flips(*names: str) -> Stage:
    steps, edge = [], SOURCE
    for name in names:
        node = Node(name, "flip", "gpu", (edge,), {"horizontal": 1}, {}, f"{name}.py:1")
        steps.append(Step(node, make_operator(node), 1, 0, gpu=True))
        edge = Edge(name)
    return Stage(steps, True, 0, [Edge(names[-1])], gpu=True)


def with_function(function: Function) -> Stage:
    stage = flips("first", "last")
    stage.steps[1].operator = FunctionStep(function, "last")
    return stage


def ran(stage: Stage, *, keep_going: bool = False) -> tuple[BatchRun, DeviceState, list[str]]:
    """A batch after a stage, the state of the device, and the steps that were watched."""
    device = EmulatedDevice()
    state = DeviceState(plan(stage, outputs=["last"]), device, 0)
    run = BatchRun(0, 4, [OUT], known={SOURCE: pictures()}, keep_going=keep_going)
    watched: list[str] = []

    def watch(run: BatchRun, node: str, results: Sequence[Batch], samples: int, /) -> None:
        watched.append(f"{node} {samples}")

    DeviceRunner(state, Calls({}), InlinePool(), watch).run(run, stage, 4)
    return run, state, watched


def test_results_are_on_the_device_and_its_use_is_counted() -> None:
    run, state, watched = ran(flips("first", "last"))
    batch = run.values[OUT]
    assert batch.device is not None and not run.failures and watched == ["first 4", "last 4"]
    for mine, sample in zip(download(batch).arrays(), pictures().arrays(), strict=True):
        np.testing.assert_array_equal(mine, sample)
    assert set(state.launches) == {"first", "last"} and state.transfers == {(SOURCE, "gpu"): 4 * 36}
    assert set(state.seconds()) == {"first", "last"}
    assert state.memory.sizes[OUT] == (4 * 36, 36)


def test_a_batch_is_copied_to_the_cpu_once() -> None:
    run, state, _ = ran(flips("last"))
    copy = state.on_host(run, OUT)
    assert copy.device is None and state.on_host(run, OUT) is copy
    assert state.transfers[OUT, "cpu"] == 4 * 36


def test_a_failure_is_one_of_the_whole_batch_and_names_the_node() -> None:
    def fail(call: Call, data: Batch) -> Batch:
        raise ValueError("not here")

    run, _, watched = ran(with_function(fail))
    ((node, start, count, error),) = run.failures
    assert (node, start, count) == ("last", 0, 4) and "not here" in str(error) and "last.py:1" in str(error)
    assert watched == ["first 4"] and run.missing[OUT] == {0, 1, 2, 3} and OUT not in run.values


def test_without_memory_caches_are_emptied_and_it_is_tried_once_more() -> None:
    tries: list[int] = []

    def large(call: Call, data: Batch) -> Batch:
        tries.append(len(tries))
        if len(tries) == 1:
            raise OutOfDeviceMemory("4 GiB do not fit")
        return data

    run, _, _ = ran(with_function(large))
    assert not run.failures and tries == [0, 1] and OUT in run.values

    def too_large(call: Call, data: Batch) -> Batch:
        tries.append(len(tries))
        raise OutOfDeviceMemory("4 GiB do not fit")

    run, _, _ = ran(with_function(too_large))
    ((node, *_, error),) = run.failures
    assert node == "last" and tries == [0, 1, 2, 3]
    assert "out of GPU memory: 4 GiB do not fit" in str(error) and "first" in str(error)


def test_a_cancelled_batch_issues_nothing() -> None:
    stage = flips("last")
    state = DeviceState(plan(stage, outputs=["last"]), EmulatedDevice(), 0)
    run = BatchRun(0, 4, [OUT], known={SOURCE: pictures()})
    run.cancel()
    DeviceRunner(state, Calls({}), InlinePool()).run(run, stage, 4)
    assert OUT not in run.values and not run.failures
