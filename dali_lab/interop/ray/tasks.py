"""Tasks over a list of numbers, as rows of Ray Data, and what they find, as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import ray
import ray.data

from dali_lab.interop.ray.failures import explaining

_EACH = 4
"""Tasks for each CPU of the cluster, so that fast machines do more of them."""


def wanted_tasks() -> int:
    """Number of tasks that keep the cluster busy to the end."""
    return _EACH * max(1, int(ray.cluster_resources().get("CPU", 1)))


def results(
    numbers: Sequence[int], tasks: int, compute: Callable[[np.ndarray], list[str]], *, in_order: bool = False
) -> Iterator[Any]:
    """The results for some numbers, one for each, as they are computed on the machines of the cluster.

    Parameters
    ----------
    numbers
        What there is to do.
    tasks
        Number of tasks that they are spread over.
    compute
        Gives a JSON text for each of the numbers of a task.
    in_order
        Give them in the order of the numbers.

    Raises
    ------
    DaliLabError
        The failure of a task, as on one machine.
    """

    def task(rows: dict[str, Any]) -> dict[str, Any]:
        return {"results": compute(rows["item"])}

    data = ray.data.from_items(list(numbers), override_num_blocks=tasks).map_batches(task, batch_size=None)
    data.context.execution_options.preserve_order = in_order
    rows = iter(data.iter_rows())
    while True:
        with explaining():
            row = next(rows, None)
        if row is None:
            return
        yield json.loads(row["results"])
