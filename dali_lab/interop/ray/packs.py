"""Packing on a cluster: shards are tasks of Ray Data, which write into a folder that all machines share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np

from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.tasks import results, wanted_tasks
from dali_lab.packing import Packing
from dali_lab.packing.pack import Written


def cluster_pack(packing: Packing, tell: Callable[[int], None]) -> Iterator[Written]:
    """The shards that are not there yet, as they are written.

    Parameters
    ----------
    packing
        That of this machine, which knows the samples and their shards.
    tell
        Called for each shard with the number of its samples.
    """
    todo = packing.todo
    if not todo:
        return
    options = {each.name: getattr(packing, each.name) for each in fields(packing) if each.init}
    options["folder"] = packing.folder.resolve()
    work = on_a_node("packs", "compute")

    def write(numbers: np.ndarray) -> list[str]:
        found: list[str] = work({**options, "threads": 1}, numbers)
        return found

    for written in results(todo, min(len(todo), wanted_tasks()), write):
        shard = Written.of(written)
        tell(len(packing.shard_places(shard.number)))
        yield shard


def compute(options: dict[str, object], numbers: np.ndarray) -> list[str]:
    """Write shards, and tell of each as JSON; work of a task."""
    packing = Packing(**options)  # type: ignore[arg-type]
    try:
        return [json.dumps(shard.plain()) for shard in packing.write(numbers.tolist())]
    finally:
        packing.close()
