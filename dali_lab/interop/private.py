"""Private functions and classes of NVIDIA DALI that have a counterpart in Python alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def not_iterable(kind: Any, add_iter: bool = True) -> None:
    """Make a class with ``__iter__`` no :class:`~collections.abc.Iterable`."""
    kind.__iter__ = None
    Iterable._abc_caches_clear()  # type: ignore[attr-defined]


class Invocation:
    """A call of an operator's ``_run`` that is made when its results are asked for, and once."""

    def __init__(
        self,
        operator: Any,
        call_id: int,
        inputs: Sequence[Any] = (),
        args: Mapping[str, Any] | None = None,
        is_batch: bool = False,
        batch_size: int | None = None,
    ) -> None:
        self._operator = operator
        self.is_batch = is_batch
        self._inputs, self._args = inputs, dict(args or {}, batch_size=batch_size)
        self._results: tuple[Any, ...] | None = None

    def run(self, ctx: object) -> None:
        """Make the call, if it was not made yet."""
        if self._results is None:
            self._results = tuple(self._operator._run(ctx, *self._inputs, **self._args))

    def values(self, ctx: object) -> tuple[Any, ...]:
        """All results."""
        self.run(ctx)
        assert self._results is not None
        return self._results

    def __getitem__(self, index: int) -> InvocationResult:
        return InvocationResult(self, index)


class InvocationResult:
    """One result of an invocation."""

    def __init__(self, invocation: Invocation, index: int) -> None:
        self._invocation, self._index = invocation, index

    def value(self, ctx: object) -> Any:
        """The result; makes the call if it was not made yet."""
        return self._invocation.values(ctx)[self._index]
