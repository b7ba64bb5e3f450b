"""Processes of a cluster made ready before the first epoch, as ``Pipeline.build`` does on one machine."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import ray

from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.tasks import results

_OPTIONS = ("num_cpus", "num_gpus", "memory", "resources", "runtime_env")
"""Options by which Ray chooses the process that runs a task."""


def build_there(key: str, packed: bytes, threads: int, tasks: int, ray_options: Mapping[str, object]) -> None:
    """Build a pipeline in processes for its tasks, on the processors that are free now.

    It is an execution of Ray Data, so Ray's own actors and the parts of Ray Data are there afterwards, too.

    Parameters
    ----------
    key, packed, threads
        Name of the recipe, the recipe, and the threads of a task.
    tasks
        The tasks of an epoch.
    ray_options
        Options of these tasks.

    Raises
    ------
    DaliLabError
        If a machine cannot build it.
    """
    data = ray.put(packed)
    options = {"num_cpus": 1, **{name: ray_options[name] for name in _OPTIONS if ray_options.get(name) is not None}}
    cpus = float(options["num_cpus"]) or 1.0  # type: ignore[arg-type]
    free = min(tasks, math.floor(ray.available_resources().get("CPU", 0) / cpus))
    make_ready = on_a_node("work", "make_ready")

    def build(numbers: np.ndarray) -> list[str]:
        make_ready(key, data, threads)
        return ["null"] * len(numbers)

    if free:
        list(results(range(free), free, build, ray_options=options))
