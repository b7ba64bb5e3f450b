"""Opens sources: makes the runtime object for a source that an operator declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from dali_lab.device.interface import Device
from dali_lab.executor.plan import Step
from dali_lab.executor.sources.inputs import FedInput, PythonInput
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.operator import Operator
from dali_lab.schema.source import Source

if TYPE_CHECKING:
    from dali_lab.executor.settings import Settings
    from dali_lab.executor.sources.workers import WorkerPool


def open_source(
    operator: Operator,
    seed: int,
    *,
    checkpointing: bool = False,
    device: Device | None = None,
    workers: WorkerPool | None = None,
    tolerant: bool = False,
) -> Source:
    """The source of an operator, for one run.

    Parameters
    ----------
    operator
        An operator that declares a source.
    seed
        The node's seed.
    checkpointing
        Whether checkpoints are taken of the run.
    device
        The device of the run, for nodes placed on it.
    workers
        Worker processes for parallel sources; without them these run in this process.
    tolerant
        Errors of Python sources lose samples, and listed files that cannot be opened are left out.
    """
    external = operator.external()
    if external is None:
        return operator.open_source(seed, checkpointing=checkpointing, tolerant=tolerant)
    device = device if operator.device == "gpu" else None
    if external.source is None:
        return FedInput(external, device)
    if external.parallel and workers is not None:
        return workers.open(external, tolerant=tolerant)
    return PythonInput(external, device, tolerant=tolerant)


def open_sources(
    steps: Iterable[Step],
    seeds: Mapping[str, int],
    *,
    checkpointing: bool,
    device: Device | None,
    workers: WorkerPool | None = None,
    tolerates: Callable[[str], bool] = lambda node: False,
    opened: Mapping[str, Source] = MappingProxyType({}),
) -> dict[str, Source]:
    """The sources of steps by node, finite ones first.

    `tolerates` tells at which nodes samples may fail; `opened` are sources that are there already.

    Raises
    ------
    DaliLabError
        If a source does not find its data, with the node and the user's line.
    """
    found = dict(opened)
    for step in steps:
        if step.node.id in opened:
            continue
        seed = seeds.get(step.node.id, -1)
        try:
            found[step.node.id] = source = open_source(
                step.operator,
                seed,
                checkpointing=checkpointing,
                device=device,
                workers=workers,
                tolerant=tolerates(step.node.id),
            )
        except DaliLabError as error:
            error.locate(step.node.id, step.node.op, step.node.origin)
            raise
        if checkpointing and isinstance(source, PythonInput):
            source.warn_of_state()
    return dict(sorted(found.items(), key=lambda item: not item[1].ends))


def start_workers(steps: Iterable[Step], settings: Settings, batch_size: int) -> WorkerPool | None:
    """Start worker processes for parallel sources, if any; call it before starting threads, which a fork would lose."""
    declared = [external for step in steps if (external := step.operator.external()) is not None]
    parallel = [external for external in declared if external.parallel and external.source is not None]
    if not parallel:
        return None
    from dali_lab.executor.sources.workers import WorkerPool

    return WorkerPool(
        parallel, settings.py_num_workers, settings.py_start_method, settings.py_callback_pickler, batch_size
    )
