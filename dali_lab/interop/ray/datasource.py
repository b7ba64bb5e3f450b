"""A pipeline as a dataset of Ray Data: blocks of its batches are read tasks."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import ray
import ray.cloudpickle
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from dali_lab.executor.positions import Positions
from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.ray.choice import AUTO, best, costs_of
from dali_lab.interop.ray.cut import cut
from dali_lab.interop.ray.engines import Run
from dali_lab.interop.ray.epochs import Piece
from dali_lab.interop.ray.executions import begin_at_once
from dali_lab.interop.ray.node import on_a_node
from dali_lab.interop.ray.plan import epochs_of
from dali_lab.interop.ray.progress import Progress
from dali_lab.interop.ray.readiness import build_there, check_room
from dali_lab.interop.ray.recipe import Recipe, recipe_of
from dali_lab.interop.ray.rest import Rest
from dali_lab.interop.ray.share import Context, Share, set_share, share_of
from dali_lab.model.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from pyarrow import Table
    from ray.data import Dataset

ROWS_IN_TASK = 256, 4096
"""Rows that tasks compute: Ray Data takes up to 0.1 s to begin the next one, in which the CPU has nothing to do."""

ROWS_IN_ORDER = 512
"""Rows that tasks compute at most where blocks come in order: those of all tasks under way wait for the first one's."""

BYTES_IN_BLOCK = 64 << 20
"""Bytes after which a task gives a block and goes on."""


class Batches(Datasource):  # type: ignore[misc]
    """The batches of a pipeline as read tasks; each execution of the dataset reads the next epoch.

    Parameters
    ----------
    recipe
        The pipeline.
    share
        The part of its run that is read where the context of the dataset asks for no other.
    threads
        CPU threads of a task.
    """

    def __init__(self, recipe: Recipe, share: Share, threads: int) -> None:
        super().__init__()
        self.recipe = recipe
        self.share = share
        self._threads = threads
        self._packed: bytes = ray.cloudpickle.dumps(recipe)
        self._key = hashlib.blake2b(self._packed, digest_size=16).hexdigest()
        self._found: dict[tuple[int, Share], list[list[Run]]] = {}
        self._walk: Positions | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_found": {}, "_walk": None}

    def get_name(self) -> str:
        """The name in Ray's progress bars and dashboard."""
        return "DALILab"

    def estimate_inmemory_data_size(self) -> int | None:
        """The size of all blocks, which nothing knows before they were computed."""
        return None

    def build(self, tasks: int, ray_options: Mapping[str, object]) -> None:
        """Build the pipeline in processes for its tasks: :func:`~dali_lab.interop.ray.readiness.build_there`."""
        build_there(self._key, self._packed, self._threads, tasks, ray_options)

    def runs(self, epoch: int, share: Share) -> list[list[Run]]:
        """For each task the batches to compute.

        Ray Data asks in each execution for the tasks of the first epoch, too, to know their number. So those of the two
        parts that were asked for last are kept: the walk through the run would begin anew.
        """
        part = epoch, replace(share, positions=False, at=None, rest=None)
        found = self._found.pop(part, None)
        if found is None:
            dealt = [[piece for piece in task if piece.rows] for task in share.tasks(epoch)]
            found = [[self._run(pieces) for pieces in _following(task)] for task in dealt if task]
        self._found = dict([*self._found.items(), (part, found)][-2:])
        return found

    def _run(self, pieces: Sequence[Piece]) -> Run:
        if self._walk is None:
            self._walk = self.recipe.positions(self.share.epochs.batches)
        first = pieces[0].batch
        return first, self._walk.before(first).dumps(), [piece.rows for piece in pieces]

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Context | None = None
    ) -> list[ReadTask]:
        """The read tasks of the next epoch."""
        share = share_of(data_context) or self.share
        epoch = share.epoch(int(getattr(data_context, "_execution_idx", 0)))
        packed = ray.put(self._packed)
        most = getattr(data_context, "target_max_block_size", None)
        exact = "on_error" not in self.recipe.settings
        return [
            ReadTask(
                _read(self._key, packed, runs, self._threads, share.positions, most),
                BlockMetadata(
                    num_rows=sum(sum(run[2]) for run in runs) if exact else None,
                    size_bytes=None,
                    input_files=None,
                    exec_stats=None,
                ),
                per_task_row_limit=per_task_row_limit,
            )
            for runs in self.runs(epoch, share)
        ]


def _following(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces in groups of batches that follow each other in the run."""
    groups = itertools.groupby(enumerate(pieces), lambda item: item[1].batch - item[0])
    return [[piece for _, piece in group] for _, group in groups]


def _read(
    key: str, packed: object, runs: list[Run], threads: int, positions: bool, most: int | None
) -> Callable[[], Iterator[Table]]:
    """The function of a read task."""
    read = on_a_node("work", "read")

    def read_batches() -> Iterator[Table]:
        yield from read(key, packed, runs, threads, positions, most)

    return read_batches


def dataset(
    pipe: object,
    *,
    columns: Sequence[str] | None = None,
    reader_name: str | None = None,
    batches: int | None = None,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.PARTIAL,
    resume: object = None,
    batches_per_block: int | None = None,
    preserve_order: bool | None = None,
    positions: bool = False,
    until: str | Sequence[str] | None = None,
    **ray_options: object,
) -> Dataset:
    """A dataset of Ray Data with the batches of a pipeline, each computed on some machine of the cluster.

    Batch `k` is the batch that ``Pipeline.run`` gives as its `k`-th, whatever machine computes it and however many
    there are. Executions of the dataset read one epoch after the other. Tasks that are lost with an actor or a node
    are computed again, with the same numbers.

    The pipeline is built here, as by ``Pipeline.build``, and in processes on the processors that are free, some seconds
    each, so that the first epoch is as quick as the others. Processes that come later build it when they need it.

    Parameters
    ----------
    pipe
        A pipeline, a graph, or a function decorated with ``pipeline_def``.
    columns
        Names of the columns, one for each output; by default those of the nodes.
    reader_name
        The reader that knows how long an epoch is, where there are several.
    batches
        Batches in an epoch, where no reader knows it.
    last_batch_policy
        Treatment of an incomplete last batch, as in iterators over pipelines.
    resume
        State of a distributed run, or a list with that of each rank: its epoch goes on with the batches that were not
        delivered.
    batches_per_block
        Batches that a task computes and gives as one block. By default tasks compute 256 to 4,096 samples, fewer at the
        beginning and the end of an epoch, and give blocks of 64 MiB on the way.
    preserve_order
        Whether blocks come in the order of the batches; by default as the context of Ray Data says.
    positions
        Add a column with the number of the batch, which iterators otherwise ask for themselves.
    until
        The last node to run in the tasks: the columns that the rest needs cross the network, and
        :func:`~dali_lab.interop.ray.iterator.iterator` runs the rest where the batches are used. ``"auto"`` runs some
        rows here and takes the node behind which the fewest bytes cross, while at most 15 % of the processor time is
        left to the trainer; it cuts nothing where that spares less than a tenth of the bytes.
    **ray_options
        Options of ``ray.data.read_datasource``: ``num_cpus``, which is also the number of threads of a task (1 by
        default), ``memory``, ``concurrency``, ``runtime_env`` and others.

    Returns
    -------
    ray.data.Dataset
        A column for each output, a row for each sample.

    Raises
    ------
    ArgumentError
        If no reader tells how long an epoch is, or several do.
    OperatorError
        If a source can only be asked for one batch after the other.
    FormatError
        If `resume` is no state of this run.
    RayError
        If no node of the cluster has what a task takes.
    """
    recipe = recipe_of(pipe, columns)
    progress = Progress(recipe.seed, recipe.batch_size) if resume is None else Progress.load(resume)
    if resume is not None:
        if progress.batch_size != recipe.batch_size:
            raise FormatError(f"the state is of a run with batches of {progress.batch_size}, not {recipe.batch_size}")
        recipe = replace(recipe, seed=progress.seed)
    epochs = epochs_of(recipe, reader_name, batches, last_batch_policy)
    rest = None
    if until == AUTO and AUTO not in recipe.graph.nodes:
        until = best(costs_of(recipe))
    if until is not None:
        parts = cut(recipe, until)
        recipe, rest = parts.first, Rest(parts.rest, parts.inputs)
    if batches_per_block is not None and batches_per_block < 1:
        raise ArgumentError(f"must be at least 1, not {batches_per_block}", argument="batches_per_block")
    least, most = (batches_per_block or max(1, rows // recipe.batch_size) for rows in ROWS_IN_TASK)
    options = ray.data.DataContext.get_current().execution_options
    ordered = options.preserve_order if preserve_order is None else preserve_order
    if ordered and batches_per_block is None:
        most = max(least, ROWS_IN_ORDER // recipe.batch_size)
    # Only batches whose rows are known are put together again from several blocks.
    whole = batches_per_block is not None or "on_error" in recipe.settings
    cpus = ray_options.get("num_cpus")
    threads = max(1, int(cpus)) if isinstance(cpus, (int, float)) else 1
    at_once = max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
    share = Share(epochs, progress, least, least if whole else most, at_once, positions=positions, rest=rest)
    tasks = len(share.tasks(progress.epoch))
    if not tasks:
        raise FormatError("nothing is left of this epoch: resume with the state of a later batch, or begin the next")
    check_room(ray_options)
    source = Batches(recipe, share, threads)
    source.build(tasks, ray_options)
    made = ray.data.read_datasource(source, **{"override_num_blocks": tasks, **ray_options})
    made.context.target_max_block_size = (
        None if whole else min(BYTES_IN_BLOCK, made.context.target_max_block_size or BYTES_IN_BLOCK)
    )
    set_share(made.context, share)
    begin_at_once(made)
    if preserve_order is not None:
        made.context.execution_options.preserve_order = preserve_order
    return made
