"""Tasks over a list of numbers, as read tasks of Ray Data, and what they find, as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from dali_lab.interop.ray.executions import begin_at_once
from dali_lab.interop.ray.failures import explaining

if TYPE_CHECKING:
    from pyarrow import Table

Compute = Callable[[np.ndarray], list[str]]
"""Gives a JSON text for each of the numbers of a task."""

_NONE: Mapping[str, object] = {}
_EACH = 4
"""Tasks for each CPU of the cluster, so that fast machines do more of them."""


def wanted_tasks() -> int:
    """Number of tasks that keep the cluster busy to the end."""
    return _EACH * max(1, int(ray.cluster_resources().get("CPU", 1)))


class Work(Datasource):  # type: ignore[misc]
    """Numbers in parts, with a read task for each: errors of such tasks come as they were raised."""

    def __init__(self, parts: Sequence[np.ndarray], compute: Compute) -> None:
        super().__init__()
        self._parts, self._compute = parts, compute

    def get_name(self) -> str:
        """The name in Ray's progress bars and dashboard."""
        return "DALILab"

    def estimate_inmemory_data_size(self) -> int | None:
        """The size of all results, which nothing knows before they were computed."""
        return None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None
    ) -> list[ReadTask]:
        """A read task for each part."""
        packed = ray.put(self._compute)  # a graph may name a million files
        return [
            ReadTask(
                _read(part, packed),
                BlockMetadata(num_rows=len(part), size_bytes=None, input_files=None, exec_stats=None),
                per_task_row_limit=per_task_row_limit,
            )
            for part in self._parts
        ]


def _read(part: np.ndarray, packed: ray.ObjectRef) -> Callable[[], Iterator[Table]]:
    def read() -> Iterator[Table]:
        import pyarrow

        compute: Compute = ray.get(packed)
        yield pyarrow.table({"results": compute(part)})

    return read


def results(
    numbers: Sequence[int],
    tasks: int,
    compute: Compute,
    *,
    in_order: bool = False,
    ray_options: Mapping[str, object] = _NONE,
) -> Iterator[Any]:
    """The results for some numbers, one for each, as they are computed on the machines of the cluster.

    Parameters
    ----------
    numbers
        What there is to do.
    tasks
        Number of tasks that they are spread over.
    compute
        The work of a task.
    in_order
        Give them in the order of the numbers.
    ray_options
        Options of the tasks.

    Raises
    ------
    DaliLabError
        The failure of a task, as on one machine.
    """

    source = Work(np.array_split(np.asarray(numbers), tasks), compute)
    data = ray.data.read_datasource(source, **{"override_num_blocks": tasks, **ray_options})
    data.context.execution_options.preserve_order = in_order
    begin_at_once(data)
    rows = iter(data.iter_rows())
    while True:
        with explaining():
            row = next(rows, None)
        if row is None:
            return
        yield json.loads(row["results"])
