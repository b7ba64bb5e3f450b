"""Runs a stage on a GPU: all of its launches put together, issued at once, and nothing waited for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dali_lab.batch.batch import Batch
from dali_lab.device.interface import OutOfDeviceMemory
from dali_lab.device.launcher import Launcher
from dali_lab.device.transfer import TRANSFER, UPLOAD, to_device, to_host
from dali_lab.errors import OperatorError
from dali_lab.executor.device_memory import memory_table
from dali_lab.executor.plan import COMPUTE, DECODE, bare
from dali_lab.graph.graph import Edge

if TYPE_CHECKING:
    from dali_lab.executor.engine import BatchRun, Engine
    from dali_lab.executor.plan import Stage


def run_device_stage(engine: Engine, run: BatchRun, stage: Stage) -> None:
    """Put the steps of a stage together on the compute stream; the batches that leave it are there when it has run.

    A batch between two steps goes back to the arena after its last use, so its memory is had again within the stage.
    """
    from dali_lab.executor.engine import explain

    try:
        try:
            _put_together(engine, run, stage)
        except OutOfDeviceMemory:
            # Batches before this one may have finished by now; with their memory there may be enough.
            _make_room(engine)
            _put_together(engine, run, stage)
    except OutOfDeviceMemory as error:
        step = stage.steps[0]
        run.failures.append((step.node.id, 0, run.size, explain(out_of_memory(engine, error), step, [])))
    except Exception as error:  # what the device refuses: memory, a kernel that does not compile
        step = stage.steps[0]
        run.failures.append((step.node.id, 0, run.size, explain(error, step, [])))


def _put_together(engine: Engine, run: BatchRun, stage: Stage) -> None:
    from dali_lab.executor.engine import explain, run_step

    assert engine.device is not None
    local: dict[Edge, Batch] = {}
    failed: set[str] = set()
    uses = _last_uses(stage)
    stream = engine.device.stream(stage.steps[0].stream)
    stream.ahead = stream.name == DECODE
    with Launcher(stream) as gpu:
        for place, step in enumerate(stage.steps):
            if run.cancelled:
                return
            edges = [bare(edge) for edge in step.node.inputs]
            connections = {name: bare(edge) for name, edge in step.node.connections.items()}
            needed = [*edges, *connections.values()]
            if any(edge.node in failed or (edge not in local and edge not in run.values) for edge in needed):
                failed.add(step.node.id)
                continue
            began = time.perf_counter()
            gpu.time(step.node.id)
            inputs: list[Batch] = []
            try:
                for index, edge in enumerate(edges):
                    if index in step.operator.cpu_inputs:
                        inputs.append(_on_host(engine, run, edge, local, gpu))
                        continue
                    if edge not in local:
                        if run.values[edge].device is None:
                            engine.count_transfer(edge, "gpu", run.values[edge])
                        local[edge] = to_device(run.values[edge], gpu)
                    inputs.append(local[edge])
                arguments = {name: _on_host(engine, run, edge, local, gpu) for name, edge in connections.items()}
                count = len(inputs[0]) if inputs else engine.count(run, stage)
                call = engine.make_call(run, stage, step, arguments, inputs, 0, count)
                call.gpu = gpu
                results = run_step(step, call, inputs, check=False)
                results = tuple(to_device(batch, gpu) for batch in results)
            except OutOfDeviceMemory:
                raise
            except Exception as error:  # every failure of an operator travels to whoever waits for the batch
                run.failures.append((step.node.id, 0, run.size, explain(error, step, inputs)))
                failed.add(step.node.id)
                if not engine.keep_going:
                    return
                continue
            run.seconds[step.node.id] += time.perf_counter() - began
            for output, batch in enumerate(results):
                local[Edge(step.node.id, output)] = batch
                engine.count_device_memory(Edge(step.node.id, output), batch)
                if engine.memory is not None:
                    run.count_memory(Edge(step.node.id, output), batch)
            inputs.clear()
            for edge in uses[place]:
                local.pop(edge, None)
        gpu.time("")
        gpu.afterwards(lambda event: engine.device_times.extend(gpu.times()))
    engine.collect_device_times()
    for edge in stage.exports:
        if edge in local:
            run.parts[edge][0] = local[edge]


def _make_room(engine: Engine) -> None:
    """Wait for what is under way on the device, and give unused memory back."""
    device = engine.device
    assert device is not None
    for name in (UPLOAD, COMPUTE, DECODE, TRANSFER):
        device.stream(name).synchronize()
    device.arena.trim()
    device.relieve()


def out_of_memory(engine: Engine, error: OutOfDeviceMemory) -> OperatorError:
    """What to tell people: what did not fit, what the plan needs, and what they can do."""
    assert engine.device is not None
    table = memory_table(engine.plan, engine.device_memory)
    free, total = engine.device.memory()
    arena = engine.device.arena
    known = f"\n{table}" if table.rows else ""
    return OperatorError(
        f"out of GPU memory: {error}. Caches were emptied and it was tried once more. Of {total >> 20} MiB {free >> 20}"
        f" are free; batches hold {arena.in_use >> 20}. A smaller batch_size or prefetch_queue_depth, or other nodes on"
        f" the CPU, need less.{known}"
    )


def _on_host(engine: Engine, run: BatchRun, edge: Edge, local: dict[Edge, Batch], gpu: Launcher) -> Batch:
    """An input that is read on the CPU; what this stage makes itself is issued and waited for."""
    if edge not in local or edge in run.values:
        return engine.on_host(run, edge)
    gpu.issue()
    return to_host(local[edge], gpu.stream)


def _last_uses(stage: Stage) -> list[list[Edge]]:
    """For each step the edges that nothing needs after it."""

    last: dict[Edge, int] = {}
    for place, step in enumerate(stage.steps):
        for output in range(step.outputs):
            last[Edge(step.node.id, output)] = place
        for edge in map(bare, step.node.edges()):
            last[edge] = place
    uses: list[list[Edge]] = [[] for _ in stage.steps]
    for edge, place in last.items():
        if edge not in stage.exports:
            uses[place].append(edge)
    return uses
