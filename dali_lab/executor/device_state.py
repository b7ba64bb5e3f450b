"""State of the device that runs a plan: memory, time, launches and copies."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping

from dali_lab.device.interface import Device, Event
from dali_lab.device.transfer import TRANSFER, UPLOAD
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.device_memory import MemoryPlan
from dali_lab.executor.plan import COMPUTE, DECODE, Plan
from dali_lab.graph.graph import Edge
from dali_lab.model.batch import Batch
from dali_lab.model.errors import OperatorError, OutOfDeviceMemory


class DeviceState:
    """State shared by the stages on a device.

    Parameters
    ----------
    plan, device
        The plan, and its device.
    batch_size
        Most samples of a batch, for planning memory; 0 plans nothing ahead.

    Attributes
    ----------
    memory
        Sizes of results, seen and predicted.
    launches
        Kernels launched for the last batch, by node.
    transfers
        Bytes of the largest batch of each edge that is copied to the ``"gpu"`` or to the ``"cpu"``.
    """

    def __init__(self, plan: Plan, device: Device, batch_size: int) -> None:
        self.device = device
        self.memory = MemoryPlan(plan, batch_size)
        self.memory.reserve()
        self.launches: dict[str, int] = {}
        self.transfers: dict[tuple[Edge, str], int] = {}
        self._seconds: dict[str, float] = defaultdict(float)
        self._times: deque[tuple[str, Event, Event]] = deque()
        self._lock = threading.Lock()

    def on_host(self, run: BatchRun, edge: Edge) -> Batch:
        """A finished edge of a batch in host memory."""
        return run.on_host(edge, lambda edge, batch: self.count_transfer(edge, "cpu", batch))

    def count_transfer(self, edge: Edge, to: str, batch: Batch) -> None:
        """Count a copy of a batch by its size."""
        with self._lock:
            self.transfers[edge, to] = max(batch.nbytes, self.transfers.get((edge, to), 0))

    def count_time(self, times: Iterable[tuple[str, Event, Event]]) -> None:
        """Note the start and end events of the work of nodes."""
        self._times.extend(times)

    def seconds(self) -> Mapping[str, float]:
        """Device time of each node, over all work finished so far."""
        with self._lock:
            while self._times and self._times[0][2].done():
                node, begin, end = self._times.popleft()
                self._seconds[node] += end.seconds_since(begin)
            return self._seconds

    def make_room(self) -> None:
        """Wait for all work in progress on the device, and free unused memory."""
        for name in (UPLOAD, COMPUTE, DECODE, TRANSFER):
            self.device.stream(name).synchronize()
        self.device.arena.trim()
        self.device.relieve()

    def out_of_memory(self, error: OutOfDeviceMemory) -> OperatorError:
        """The error shown to the user: what did not fit, what the plan needs, and possible remedies."""
        table = self.memory.table()
        free, total = self.device.memory()
        known = f"\n{table}" if table.rows else ""
        return OperatorError(
            f"out of GPU memory: {error}. Caches were emptied and it was tried once more. Of {total >> 20} MiB"
            f" {free >> 20} are free; batches hold {self.device.arena.in_use >> 20}. A smaller batch_size or"
            f" prefetch_queue_depth, or other nodes on the CPU, need less.{known}"
        )
