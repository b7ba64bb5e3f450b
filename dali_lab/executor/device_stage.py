"""Runs a stage on a GPU: all of its launches are prepared, issued at once, and not waited for."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

from dali_lab.device.launcher import Launcher
from dali_lab.device.transfer import to_device, to_host
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.calls import Calls
from dali_lab.executor.chunks import Watcher
from dali_lab.executor.device_state import DeviceState
from dali_lab.executor.failures import explain, named_sample
from dali_lab.executor.pace import Effort
from dali_lab.executor.plan import DECODE, Stage, Step
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError, OutOfDeviceMemory
from dali_lab.schema.running import run_operator


@dataclass(frozen=True)
class DeviceRunner:
    """Runs stages of batches on a device.

    Attributes
    ----------
    state
        The device, and the statistics of its use.
    calls
        Makes operator calls.
    pool
        Threads that help with what is done on the CPU.
    watch
        Called for each step.
    """

    state: DeviceState
    calls: Calls
    pool: ThreadPool | InlinePool
    watch: Watcher | None = None

    def run(self, run: BatchRun, stage: Stage, count: int) -> None:
        """Prepare the steps of a stage on its stream; the batches that leave it are ready once it has run.

        A batch between two steps returns to the arena after its last use, so its memory is reused within the stage.
        If the device runs out of memory, the stage is tried once more with emptied caches.
        """
        try:
            try:
                _DeviceStage(self, run, stage, count).put_together()
            except _Failed as failed:
                if not isinstance(failed.error, OutOfDeviceMemory):
                    raise
                # Batches before this one may have finished by now; with their memory there may be enough.
                self.state.make_room()
                _DeviceStage(self, run, stage, count).put_together()
        except _Failed as failed:
            step, error = failed.step, failed.error
            if isinstance(error, OutOfDeviceMemory):
                error = self.state.out_of_memory(error)
            run.failures.append((step.node.id, 0, run.size, explain(error, step.node, [])))
        for edge in stage.exports:
            if edge not in run.values:
                run.missing[edge] = set(range(count))


class _Failed(Exception):
    """A failure of the device (out of memory, a kernel that does not compile), with its step."""

    def __init__(self, step: Step, error: Exception) -> None:
        super().__init__(str(error))
        self.step = step
        self.error = error


class _DeviceStage:
    """A stage of one batch while it is prepared.

    Attributes
    ----------
    step
        The step being prepared.
    local
        Results that later steps need.
    """

    def __init__(self, runner: DeviceRunner, run: BatchRun, stage: Stage, count: int) -> None:
        self.calls, self.state, self.watch, self.pool = runner.calls, runner.state, runner.watch, runner.pool
        self.run, self.stage, self.count = run, stage, count
        stream = self.state.device.stream(stage.steps[0].stream)
        stream.ahead = stream.name == DECODE
        self.gpu = Launcher(stream)
        self.step = stage.steps[0]
        self.local: dict[Edge, Batch] = {}
        self.failed: set[str] = set()

    def put_together(self) -> None:
        """Prepare all steps and issue them.

        Raises
        ------
        _Failed
            With the failure of the device.
        """
        try:
            with self.gpu:
                if not self._put_steps_together():
                    return
        except Exception as error:
            raise _Failed(self._culprit(), error) from error
        self.state.seconds()
        self.state.launches.update(self.gpu.launched)
        self.run.values.update({edge: self.local[edge] for edge in self.stage.exports if edge in self.local})

    def _put_steps_together(self) -> bool:
        uses = _last_uses(self.stage)
        for step, unused in zip(self.stage.steps, uses, strict=True):
            if self.run.cancelled:
                return False
            self.step = step
            if any(e.node in self.failed or (e not in self.local and e not in self.run.values) for e in step.needed):
                self.failed.add(step.node.id)
            elif not self._put_step_together(step) and not self.run.keep_going:
                return False
            for edge in unused:
                self.local.pop(edge, None)
        self.gpu.time("")
        self.gpu.afterwards(lambda event: self.state.count_time(self.gpu.times()))
        return True

    def _put_step_together(self, step: Step) -> bool:
        """Prepare the work of one step. Returns whether its operator succeeded."""
        run, state = self.run, self.state
        began = time.perf_counter()
        self.gpu.time(step.node.id)
        inputs: list[Batch] = []
        count = self.count
        try:
            for index, edge in enumerate(step.inputs):
                on_cpu = index in step.operator.cpu_inputs
                inputs.append(self._on_host(edge) if on_cpu else self._on_device(edge))
            arguments = {name: self._on_host(edge) for name, edge in step.connections.items()}
            count = len(inputs[0]) if inputs else count
            call = self.calls.make(run, self.stage, step, inputs, arguments, 0, count)
            call.gpu = self.gpu
            call.sharing = functools.partial(Effort().share, self.pool, count, 1)
            call.lost = None if run.policy is None else {}
            made = run_operator(step.operator, call, inputs, step.outputs, check=False)
            results = tuple(to_device(batch, self.gpu) for batch in made)
            for lost in (call.lost or {}).values():
                self._note_bad(explain(lost, step.node, inputs), count)
            if run.unsettled:
                return False
        except OutOfDeviceMemory:
            raise
        except BaseException as error:  # every failure of an operator is raised where the batch is taken
            at = self._culprit()
            self._note_bad(explain(error, at.node, inputs if at is step else []), count)
            self.failed.add(step.node.id)
            return False
        run.seconds[step.node.id] += time.perf_counter() - began
        for output, batch in enumerate(results):
            edge = Edge(step.node.id, output)
            self.local[edge] = batch
            state.memory.note(edge, batch)
        if self.watch is not None:
            self.watch(run, step.node.id, results, count)
        return True

    def _note_bad(self, error: BaseException, count: int) -> None:
        """Note the sample that an error names as bad, or the batch as failed."""
        run = self.run
        row = named_sample(error, 0, count) if run.covers(error) else None
        if row is not None and isinstance(error, DaliLabError):
            run.note_bad(self.stage, row, error)
        else:
            run.failures.append((getattr(error, "node", None) or self.step.node.id, 0, run.size, error))

    def _on_device(self, edge: Edge) -> Batch:
        if edge not in self.local:
            batch = self.run.values[edge]
            if batch.device is None:
                self.state.count_transfer(edge, "gpu", batch)
            self.state.memory.note_kind(edge, batch)
            self.local[edge] = to_device(batch, self.gpu)
        return self.local[edge]

    def _on_host(self, edge: Edge) -> Batch:
        """An input that is read on the CPU; one made in this stage is issued and waited for."""
        if edge not in self.local or edge in self.run.values:
            return self.state.on_host(self.run, edge)
        self.gpu.issue()
        return to_host(self.local[edge], self.gpu.stream)

    def _culprit(self) -> Step:
        """The step whose work could not be started, or else the one being prepared."""
        return next((step for step in self.stage.steps if step.node.id == self.gpu.culprit), self.step)


def _last_uses(stage: Stage) -> list[list[Edge]]:
    """For each step the edges that nothing needs after it."""

    last: dict[Edge, int] = {}
    for place, step in enumerate(stage.steps):
        for output in range(step.outputs):
            last[Edge(step.node.id, output)] = place
        for edge in step.needed:
            last[edge] = place
    uses: list[list[Edge]] = [[] for _ in stage.steps]
    for edge, place in last.items():
        if edge not in stage.exports:
            uses[place].append(edge)
    return uses
