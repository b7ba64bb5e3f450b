"""Runs a stage on a GPU: all of its launches put together, issued at once, and nothing waited for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dali_lab.device.interface import OutOfDeviceMemory
from dali_lab.device.launcher import Launcher
from dali_lab.device.transfer import TRANSFER, UPLOAD, to_device, to_host
from dali_lab.executor.plan import COMPUTE, DECODE, bare
from dali_lab.executor.steps import explain, run_step
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError

if TYPE_CHECKING:
    from dali_lab.executor.batch_run import BatchRun
    from dali_lab.executor.engine import Engine
    from dali_lab.executor.plan import Stage, Step


def run_device_stage(engine: Engine, run: BatchRun, stage: Stage) -> None:
    """Put the steps of a stage together on the compute stream; the batches that leave it are there when it has run.

    A batch between two steps goes back to the arena after its last use, so its memory is had again within the stage.
    """
    try:
        try:
            _DeviceStage(engine, run, stage).put_together()
        except _Failed as failed:
            if not isinstance(failed.error, OutOfDeviceMemory):
                raise
            # Batches before this one may have finished by now; with their memory there may be enough.
            _make_room(engine)
            _DeviceStage(engine, run, stage).put_together()
    except _Failed as failed:
        step, error = failed.step, failed.error
        if isinstance(error, OutOfDeviceMemory):
            error = out_of_memory(engine, error)
        run.failures.append((step.node.id, 0, run.size, explain(error, step, [])))


class _Failed(Exception):
    """What the device refuses (memory, a kernel that does not compile), and at which step."""

    def __init__(self, step: Step, error: Exception) -> None:
        super().__init__(str(error))
        self.step = step
        self.error = error


class _DeviceStage:
    """A stage of one batch while it is put together.

    Attributes
    ----------
    step
        The step that is put together now.
    local
        Results that are needed further on.
    """

    def __init__(self, engine: Engine, run: BatchRun, stage: Stage) -> None:
        assert engine.device is not None
        self.engine, self.run, self.stage = engine, run, stage
        stream = engine.device.stream(stage.steps[0].stream)
        stream.ahead = stream.name == DECODE
        self.gpu = Launcher(stream)
        self.step = stage.steps[0]
        self.local: dict[Edge, Batch] = {}
        self.failed: set[str] = set()

    def put_together(self) -> None:
        """Put all steps together and issue them.

        Raises
        ------
        _Failed
            With what the device refuses.
        """
        try:
            with self.gpu:
                if not self._put_steps_together():
                    return
        except Exception as error:
            raise _Failed(self._culprit(), error) from error
        self.engine.collect_device_times()
        self.engine.device_launches.update(self.gpu.launched)
        for edge in self.stage.exports:
            if edge in self.local:
                self.run.parts[edge][0] = self.local[edge]

    def _put_steps_together(self) -> bool:
        uses = _last_uses(self.stage)
        for step, unused in zip(self.stage.steps, uses, strict=True):
            if self.run.cancelled:
                return False
            self.step = step
            needed = map(bare, step.node.edges())
            if any(e.node in self.failed or (e not in self.local and e not in self.run.values) for e in needed):
                self.failed.add(step.node.id)
            elif not self._put_step_together(step) and not self.engine.keep_going:
                return False
            for edge in unused:
                self.local.pop(edge, None)
        self.gpu.time("")
        self.gpu.afterwards(lambda event: self.engine.device_times.extend(self.gpu.times()))
        return True

    def _put_step_together(self, step: Step) -> bool:
        """Put the work of one step together; whether its operator did not fail."""
        engine, run = self.engine, self.run
        began = time.perf_counter()
        self.gpu.time(step.node.id)
        inputs: list[Batch] = []
        try:
            for index, edge in enumerate(map(bare, step.node.inputs)):
                on_cpu = index in step.operator.cpu_inputs
                inputs.append(self._on_host(edge) if on_cpu else self._on_device(edge))
            arguments = {name: self._on_host(bare(edge)) for name, edge in step.node.connections.items()}
            count = len(inputs[0]) if inputs else engine.count(run, self.stage)
            call = engine.make_call(run, self.stage, step, arguments, inputs, 0, count)
            call.gpu = self.gpu
            results = tuple(to_device(batch, self.gpu) for batch in run_step(step, call, inputs, check=False))
        except OutOfDeviceMemory:
            raise
        except Exception as error:  # every failure of an operator travels to whoever waits for the batch
            at = self._culprit()
            run.failures.append((at.node.id, 0, run.size, explain(error, at, inputs if at is step else [])))
            self.failed.add(step.node.id)
            return False
        run.seconds[step.node.id] += time.perf_counter() - began
        for output, batch in enumerate(results):
            edge = Edge(step.node.id, output)
            self.local[edge] = batch
            engine.device_memory.note(edge, batch)
            if engine.memory is not None:
                run.count_memory(edge, batch)
        if engine.progress is not None:
            engine.progress(run, step.node.id, count)
        return True

    def _on_device(self, edge: Edge) -> Batch:
        if edge not in self.local:
            batch = self.run.values[edge]
            if batch.device is None:
                self.engine.count_transfer(edge, "gpu", batch)
            self.engine.device_memory.note_kind(edge, batch)
            self.local[edge] = to_device(batch, self.gpu)
        return self.local[edge]

    def _on_host(self, edge: Edge) -> Batch:
        """An input that is read on the CPU; what this stage makes itself is issued and waited for."""
        if edge not in self.local or edge in self.run.values:
            return self.engine.on_host(self.run, edge)
        self.gpu.issue()
        return to_host(self.local[edge], self.gpu.stream)

    def _culprit(self) -> Step:
        """The step whose work could not be started, or else the one that is put together now."""
        return next((step for step in self.stage.steps if step.node.id == self.gpu.culprit), self.step)


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
    table = engine.device_memory.table()
    free, total = engine.device.memory()
    arena = engine.device.arena
    known = f"\n{table}" if table.rows else ""
    return OperatorError(
        f"out of GPU memory: {error}. Caches were emptied and it was tried once more. Of {total >> 20} MiB {free >> 20}"
        f" are free; batches hold {arena.in_use >> 20}. A smaller batch_size or prefetch_queue_depth, or other nodes on"
        f" the CPU, need less.{known}"
    )


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
