"""A cluster before the first epoch: whether it can run a task, and processes made ready for them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np
import ray

from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.requirements import RayError
from dali_lab.interop.ray.tasks import results

_OPTIONS = ("num_cpus", "num_gpus", "memory", "resources", "runtime_env")
"""Options by which Ray chooses the process that runs a task."""


_RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""Options of tasks, and what nodes call these resources."""


def check_room(ray_options: Mapping[str, object]) -> None:
    """Check that a node of the cluster has what a task takes: Ray waits for such a node for ever.

    A cluster that this process did not start may still get one, as from an autoscaler: there it is a warning.

    Parameters
    ----------
    ray_options
        Options of the tasks.

    Raises
    ------
    RayError
        If no node has it.
    """
    options = {"num_cpus": 1, **ray_options}
    named = options.get("resources")
    taken: dict[str, float] = dict(named) if isinstance(named, Mapping) else {}
    for option, name in _RESOURCES.items():
        amount = options.get(option)
        if isinstance(amount, (int, float)):
            taken[name] = amount
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(all(node.get(name, 0) >= amount for name, amount in taken.items()) for node in nodes):
        return
    most = {name: max((node.get(name, 0) for node in nodes), default=0) for name in taken}
    said = (
        f"no node of the Ray cluster has what a task of this dataset takes ({_amounts(taken)}); the most that one has"
        f" is {_amounts(most)}. Ask dataset() for less, such as num_cpus=1, or add a larger node"
    )
    if _started_here():
        raise RayError(said)
    warnings.warn(f"{said}; until one joins, nothing is computed", stacklevel=3)


def _amounts(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {amount:,.15g}" for name, amount in resources.items())


def _started_here() -> bool:
    """Whether this process has started the cluster."""
    node = ray._private.worker._global_node
    return node is not None and node.is_head()


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
