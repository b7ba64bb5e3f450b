"""Calls of operators: the arguments that are the same for all calls of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.plan import Stage, Step
from dali_lab.model.batch import Batch
from dali_lab.schema.call import Call
from dali_lab.schema.source import Draw


@dataclass(frozen=True)
class Calls:
    """Makes the calls of a plan's operators.

    Attributes
    ----------
    seeds
        Seed of each node that draws random numbers.
    transient
        Batches are returned soon after use, unlike a preview's.
    user_context
        Entered around functions of the user.
    """

    seeds: Mapping[str, int]
    transient: bool = False
    user_context: Callable[[], AbstractContextManager[object]] = nullcontext

    def make(
        self,
        run: BatchRun,
        stage: Stage,
        step: Step,
        inputs: Sequence[Batch],
        connected: Mapping[str, Batch],
        start: int,
        stop: int,
        draws: Mapping[str, Draw] | None = None,
    ) -> Call:
        """The call of a step's operator on samples ``start … stop - 1``, of other draws than the batch's if given."""
        node, operator = step.node.id, step.operator
        draw = (run.draws if draws is None else draws).get(node)
        rows = None if run.rows is None else run.rows[run.positions(stage)][start:stop]
        return Call(
            operator,
            start,
            stop - start,
            batch_size=run.size,
            iteration=run.iteration,
            drawn_before=run.drawn_before.get(node, 0) if rows is None else 0,
            seed=self.seeds.get(operator.seed_node or node, 0),
            ticket=draw.ticket if draw is not None else None,
            batches=connected,
            cancelled=lambda: run.cancelled,
            sources=inputs[0].sources if inputs and not stage.whole else None,
            transient=self.transient,
            user_context=self.user_context,
            rows=rows,
        )
