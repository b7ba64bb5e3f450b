"""Keeps batches in flight: draws from the sources, starts batches ahead of the consumer, returns them in order."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Device
from dali_lab.device.transfer import download, upload
from dali_lab.executor.bad_sample_tracker import BadSampleTracker
from dali_lab.executor.bad_samples import ErrorPolicy, Origin
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.checkpoint import Checkpoint
from dali_lab.executor.engine import Engine
from dali_lab.executor.placement import output_on_gpu
from dali_lab.executor.planning import EpochSizes, plan_run
from dali_lab.executor.replacing import LastGood
from dali_lab.executor.settings import Settings
from dali_lab.executor.sources.opening import open_sources, start_workers
from dali_lab.graph.graph import Graph, bare
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, name_in_messages
from dali_lab.model.errors import DaliLabError, FormatError, GraphError, OperatorError
from dali_lab.model.user_code import render_in_cells
from dali_lab.schema.source import Draw

_AHEAD = 16
"""Batches that are started at most to find one with a good sample."""


@dataclass
class _Flight:
    """A batch in flight, or the error that kept it from starting; `before` is the state from which it was drawn.

    `drawn` is what the sources gave for it, and `started` is set once the engine has it.
    """

    run: BatchRun | None = None
    error: Exception | None = None
    before: Checkpoint | None = None
    drawn: Mapping[str, Draw | None] | None = None
    started: bool = False


class Runner:
    """Runs a graph batch by batch.

    Parameters
    ----------
    graph
        A verified graph.
    settings
        The pipeline's settings; `batch_size` must be there.
    seeds
        Seed of each node that draws random numbers.
    device
        Where nodes placed on the GPU run; `None` runs them on the CPU.
    saved
        A checkpoint of the same graph, to resume from.
    user_context
        Entered around functions of the user.
    unnamed
        Nodes without a name of the user's, which may be merged with equal ones.

    Attributes
    ----------
    sources
        By node, finite ones first.
    workers
        Processes of parallel sources, if there are any.
    bad_samples
        Bad samples of the batches that were taken.

    Raises
    ------
    FormatError
        If `saved` is a checkpoint of another graph.

    Notes
    -----
    It belongs to the process that made it: a forked child has none of its threads and must not use it.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        seeds: Mapping[str, int],
        device: Device | None = None,
        saved: Checkpoint | None = None,
        user_context: Callable[[], AbstractContextManager[object]] = nullcontext,
        unnamed: Collection[str] = (),
    ) -> None:
        assert settings.batch_size is not None
        self.graph = graph
        self.settings = settings
        self.batch_size = settings.batch_size
        seeds = dict(seeds) if saved is None else {**seeds, **saved.seeds}
        policy = ErrorPolicy.of(graph, settings.on_error)
        opening = functools.partial(
            open_sources,
            seeds=seeds,
            checkpointing=bool(settings.enable_checkpointing),
            device=device,
            tolerates=lambda node: policy is not None and policy.answer(node) != "raise",
        )
        sizes = EpochSizes(self._epoch_size, self._shard_size)
        self.plan, self.kept, opened = plan_run(graph, settings, seeds, device, unnamed, opening, sizes)
        self.expected = settings.expectations(len(self.plan.graph.outputs))
        self.workers = start_workers(self.plan.sources, settings, self.batch_size)
        self.sources = opening(self.plan.sources, workers=self.workers, opened=opened)
        self.engine = Engine(
            self.plan,
            settings.threads,
            seeds,
            memory=settings.enable_memory_stats,
            batch_size=self.batch_size,
            transient=True,
            user_context=user_context,
            policy=policy,
        )
        self._tracker = BadSampleTracker(settings.max_error_rate)
        self.bad_samples = self._tracker.log
        self.state = Checkpoint()
        self.restored = saved is not None
        self._flights: deque[_Flight] = deque()
        self._drawn: dict[str, Draw | None] = {}
        self._refused: Exception | None = None
        self._before: Checkpoint | None = None
        self._closed = False
        self._pid = os.getpid()
        if saved is not None:
            try:
                self._restore(saved)
            except BaseException:
                self.close()
                raise

    # -- running ------------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Batches started but not yet taken."""
        return len(self._flights)

    @property
    def left_out(self) -> list[int]:
        """Positions in the last batch taken whose samples were left out."""
        return self._tracker.left_out

    @property
    def ended(self) -> bool:
        """Whether a source is exhausted and waits for :meth:`reset`."""
        return self.state.ended

    def schedule(self, each: Callable[[], None] | None = None, rows: npt.NDArray[np.int64] | None = None) -> bool:
        """Start one more batch.

        Parameters
        ----------
        each
            Called before the sources draw; it may feed them, or end the epoch with :class:`StopIteration`.
        rows
            The indices by which samples draw random numbers; see :class:`~dali_lab.executor.batch_run.BatchRun`.

        Returns
        -------
        bool
            Whether one more is in flight: not so at the end of the epoch, after an error that has not been taken,
            or when nothing was fed and other batches can be taken first.
        """
        self._check_process()
        self._start_drawn()
        if self.state.ended or (self._flights and self._flights[-1].error is not None):
            return False
        try:
            if each is not None:
                each()
            if self._flights and not all(source.ready() for source in self.sources.values()):
                return False
            if self.settings.enable_checkpointing and not self._drawn:
                self._before = self._snapshot()
            draws, size = self._draw()
        except StopIteration:
            self.state = replace(self.state, ended=True)
            self._forget_drawn()
            return False
        except Exception as error:  # an error of the callback is raised where this batch is taken
            render_in_cells(error)
            self._flights.append(_Flight(error=error))
            return True
        run = self.engine.prepare(self.state.iteration, size, draws, rows=rows)
        self._flights.append(_Flight(run, None, self._before, self._drawn))
        self._start_drawn()
        return True

    def _start_drawn(self) -> None:
        """Start the batches that were drawn. It does what is left to do, also where Ctrl-C has interrupted it."""
        if self._flights and self._flights[-1].drawn is self._drawn:
            run = self._flights[-1].run
            assert run is not None
            self.state = replace(self.state, iteration=run.iteration + 1)
            self._forget_drawn()
        for flight in self._flights:
            if flight.run is not None and not flight.started:
                self.engine.start(flight.run)
                flight.started = True

    def _forget_drawn(self) -> None:
        self._drawn, self._refused = {}, None

    def _epoch_size(self) -> int:
        """Samples of an epoch of all shards; 0 where it is not known."""
        return max(((source.meta() or {}).get("epoch_size", 0) for source in self.sources.values()), default=0)

    def _shard_size(self) -> int:
        """Samples of an epoch of this process's shard; 0 where it is not known."""
        metas = [source.meta() or {} for source in self.sources.values()]
        return max((meta.get("epoch_size", 0) // meta.get("number_of_shards", 1) for meta in metas), default=0)

    def _draw(self) -> tuple[dict[str, Draw], int]:
        """Draw from all sources; the draws are kept, and given again, until :meth:`_forget_drawn` is called.

        Sources stay in step: where one fails that can be asked again, the draws of those before it are kept for the
        next call; where its data was refused, or lost as Ctrl-C came, the others draw, too. `None` stands for a source
        that has ended.
        """
        drawn = self._drawn
        for name, source in self.sources.items():
            if name in drawn:
                continue
            if not source.ends and None in drawn.values():
                break
            given = source.given
            try:
                drawn[name] = source.draw(self.batch_size)
            except StopIteration:
                drawn[name] = None
            except Exception as error:  # the source may be the user's
                if isinstance(error, DaliLabError):
                    node = self.plan.graph.nodes[name]
                    error.locate(name, node.op, node.origin)
                if source.given == given:
                    raise
                self._refused, drawn[name] = self._refused or error, Draw(0)
            except BaseException:  # the caller was interrupted
                if source.given != given and name not in drawn:
                    lost = OperatorError("was interrupted while it gave this batch, which is lost")
                    lost.locate(name, self.plan.graph.nodes[name].op)
                    self._refused, drawn[name] = self._refused or lost, Draw(0)
                raise
        draws = {name: draw for name, draw in drawn.items() if draw is not None}
        if len(draws) < len(drawn):
            raise StopIteration
        if self._refused is not None:
            refused = self._refused
            self._forget_drawn()
            raise refused
        sizes = {draw.count for draw in draws.values()}
        if len(sizes) > 1:
            self._forget_drawn()
            listed = ", ".join(f"{name}: {draw.count}" for name, draw in draws.items())
            raise GraphError(f"the sources gave batches of different sizes ({listed})")
        return draws, sizes.pop() if sizes else self.batch_size

    def take(self) -> list[Batch]:
        """Wait for the oldest batch and return it.

        Raises
        ------
        StopIteration
            If none is in flight.
        RuntimeError
            If the pipeline is closed, also while this waits.
        BaseException
            The failure of the batch; the next one can still be taken.
        """
        self._check_process()
        self._start_drawn()
        if not self._flights:
            raise StopIteration
        flight = self._flights[0]  # it stays there if the caller is interrupted while it waits
        run = flight.run
        if run is None:
            self._flights.popleft()
            assert flight.error is not None
            raise flight.error
        if self.engine.last_good is not None and not self._tracker.had_good:
            self._look_ahead(run, self.engine.last_good)
        run.wait()
        self._check_process()  # another thread may have closed the pipeline: the errors of that say nothing
        batches: list[Batch] = []
        failure = run.failure
        if failure is None:
            try:
                batches = self._placed(run.outputs())
            except Exception as error:  # of the device
                failure = error
        state = replace(self.state, drawn=run.drawn_after, consumed=self.state.consumed + 1)
        self._flights.popleft()
        self.state = state
        if run.policy is not None and run.failure is None:
            self._tracker.note(run, flight.before, self.state.epoch)
        if failure is not None:
            raise failure
        for index, (batch, expected) in enumerate(zip(batches, self.expected, strict=True)):
            self._check_output(index, batch, *expected)
        return batches

    def _look_ahead(self, run: BatchRun, good: LastGood) -> None:
        """Wait for a batch before which no sample was good; where it has none either, start batches behind it."""
        while good.wait(run):
            fed = not all(source.ready() for source in self.sources.values())
            if fed or len(self._flights) > _AHEAD or not self.schedule():
                good.give_up()

    def _placed(self, batches: list[Batch]) -> list[Batch]:
        """The outputs, moved to the devices that the graph asks for."""
        on_device = self.engine.device
        if on_device is None:
            return batches
        placed = []
        for batch, edge in zip(batches, self.graph.outputs, strict=True):
            to = "gpu" if output_on_gpu(self.graph, edge) else "cpu"
            if (batch.device is None) == (to == "gpu"):
                on_device.count_transfer(bare(edge), to, batch)
            placed.append(upload(batch, on_device.device) if to == "gpu" else download(batch))
        return placed

    @staticmethod
    def _check_output(index: int, batch: Batch, dtype: object, ndim: int | None, layout: str | None) -> None:
        for what, expected, got in (
            ("Data type", dtype, batch.dtype),
            ("Number of dimensions", ndim, batch.ndim),
            ("Layout", layout, batch.layout),
        ):
            if expected is not None and expected != got:
                wanted, found = (
                    name_in_messages(each) if isinstance(each, DALIDataType) else each for each in (expected, got)
                )
                raise OperatorError(
                    f"{what} in the output_idx={index} does not match. Expected: {wanted}. Received: {found}."
                )

    def reset(self) -> bool:
        """Begin the next epoch if this one has ended; returns whether it had."""
        if not self.state.ended:
            return False
        self.state = replace(self.state, ended=False, epoch=self.state.epoch + 1, consumed=0)
        for source in self.sources.values():
            source.reset()
        return True

    # -- state --------------------------------------------------------------------------------------------------

    def seek(self, position: Checkpoint) -> None:
        """Go on from a checkpoint of the same graph; batches in flight are dropped.

        Raises
        ------
        FormatError
            If it is a checkpoint of another graph or of other data.
        """
        self._check_process()
        for flight in self._flights:
            if flight.run is not None:
                flight.run.cancel()
                flight.run.wait()
        self._flights.clear()
        self._forget_drawn()
        self.engine.drawn.clear()
        self._restore(position)

    def operators(self) -> dict[str, str]:
        """Operator of each node with state."""
        return self.plan.operators_with_state(self.engine.seeds)

    def _snapshot(self) -> Checkpoint:
        states = {name: source.state() for name, source in self.sources.items()}
        return replace(self.state, sources={name: state for name, state in states.items() if state is not None})

    def checkpoint(self, iterator: str = "") -> Checkpoint:
        """The state from which the next batch to be taken follows.

        Raises
        ------
        GraphError
            If checkpointing was not enabled, or the next batch has failed.
        """
        if not self.settings.enable_checkpointing:
            raise GraphError(
                "Cannot save the checkpoint. The `enable_checkpointing` was not specified when creating the pipeline"
            )
        self._start_drawn()
        before = self._flights[0].before if self._flights else self._before if self._drawn else self._snapshot()
        if before is None:
            raise GraphError("no checkpoint can be taken: the next batch has failed")
        return replace(
            before,
            operators=self.operators(),
            seeds=dict(self.engine.seeds),
            drawn=dict(self.state.drawn),
            consumed=self.state.consumed,
            iterator=iterator,
            bad={} if self.engine.last_good is None else self._tracker.state(self.sources),
        )

    def _restore(self, saved: Checkpoint) -> None:
        saved.check(self.operators())
        self.state = saved
        self.engine.drawn.update(saved.drawn)
        if saved.bad:
            self._restore_bad(saved.bad)
        for name, source in self.sources.items():
            if name in saved.sources:
                try:
                    source.restore(saved.sources[name])
                except (ValueError, KeyError, TypeError, OverflowError) as error:
                    raise FormatError(f"this checkpoint does not fit '{name}': {error}") from error

    def _restore_bad(self, saved: Mapping[str, Any]) -> None:
        """Go on with the bad samples of a checkpoint; the sources are left behind the batch of the last good one."""
        try:
            self._tracker.restore(saved)
            if self._tracker.last_good is None or self.engine.last_good is None:
                return
            iteration, row, states = self._tracker.last_good
            for name, source in self.sources.items():
                source.restore(states[name])
            draws, size = self._draw()
            self._forget_drawn()
            if not 0 <= row < size:
                raise ValueError("the last good sample is not in its batch")
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise FormatError(f"the list of bad samples in this checkpoint is damaged: {error}") from error
        self.engine.last_good.before_first = Origin(iteration, draws, row)

    # -- ending -------------------------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> None:
        """Stop all work; waits for threads at most `timeout` seconds. Can be called again, and in a forked child."""
        if self._closed:
            return
        self._closed = True
        if self._pid != os.getpid():
            return
        for source in self.sources.values():
            source.close()
        ended = self.engine.close(timeout)
        if self.kept is not None and ended:  # else its files are closed with the last thread that reads them
            self.kept.close()
        self._flights.clear()

    def _check_process(self) -> None:
        if self._closed:
            raise RuntimeError("the pipeline is closed")
        if self._pid != os.getpid():
            raise RuntimeError(
                "this pipeline was built in another process, and a fork does not take its threads along;"
                " build a pipeline in the process that runs it"
            )
