"""Data from outside of the graph: Python callables, iterables and generators, or batches that are fed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.model.references import is_function
from dali_lab.model.sample_info import BatchInfo, SampleInfo

Kind = Literal["callable", "iterable", "generator"]


def cycle_mode(cycle: object) -> str:
    """The meaning of the argument ``cycle``: ``"no"``, ``"quiet"`` or ``"raise"``.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    if cycle is None or cycle is False or cycle == "no":
        return "no"
    if cycle is True or cycle == "quiet":
        return "quiet"
    if cycle == "raise":
        return "raise"
    message = f"Invalid value {cycle!r} for the argument `cycle`. Valid values are 'no', 'quiet', 'raise', True, False"
    raise ArgumentError(message, argument="cycle")


def _is_generator_function(item: object) -> bool:
    if isinstance(item, functools.partial):
        return _is_generator_function(item.func)
    if inspect.isgeneratorfunction(item):
        return True
    if inspect.isfunction(item) or inspect.ismethod(item) or isinstance(item, type):
        return False
    return inspect.isgeneratorfunction(inspect.getattr_static(type(item), "__call__", None))


def kind_of(source: object) -> Kind:
    """The kind of a source.

    Raises
    ------
    ArgumentTypeError
        If it is neither callable nor iterable.
    """
    if _is_generator_function(source):
        return "generator"
    if hasattr(source, "__iter__") or (hasattr(source, "__getitem__") and hasattr(source, "__len__")):
        return "iterable"
    if is_function(source):
        return "callable"
    raise ArgumentTypeError(
        "The `source` must be callable, iterable or a parameterless generator function. It is of the type"
        f" {type(source).__name__}",
        argument="source",
    )


def takes_argument(source: Callable[..., Any]) -> bool:
    """Whether a callable takes one positional argument rather than none.

    Raises
    ------
    ArgumentTypeError
        If it takes something else.
    """
    problem = "The `source` callable must accept either 0 or 1 positional arguments to indicate whether it accepts the"
    problem += " batch or sample indexing information."
    kinds = inspect.Parameter
    refused = {
        kinds.VAR_POSITIONAL: "var-positional argument `*",
        kinds.VAR_KEYWORD: "var-keyword argument `**",
        kinds.KEYWORD_ONLY: "keyword-only argument `",
    }
    found = list(inspect.signature(source).parameters.values())
    for parameter in found:
        if parameter.kind in refused:
            found_one = f"Found {refused[parameter.kind]}{parameter.name}` which is not allowed."
            raise ArgumentTypeError(f"{problem} {found_one}", argument="source")
    if len(found) > 1:
        raise ArgumentTypeError(
            f"{problem} Found more than one positional argument, which is not allowed.", argument="source"
        )
    return bool(found)


@dataclass(frozen=True)
class Request:
    """A request for a batch, or for some samples of it; `tolerant` if samples may fail by themselves."""

    iteration: int
    first_sample: int
    start: int
    stop: int
    epoch: int
    generation: int = 0
    tolerant: bool = False


@dataclass
class PythonSource:
    """A source, and how to call it.

    Attributes
    ----------
    kind
        Callable, iterable or generator.
    cycle
        What happens at the end of an iterable.
    batch
        It gives batches rather than samples.
    batch_info
        A callable for batches gets a :class:`BatchInfo` rather than a number.
    outputs
        Number of outputs, or `None` if it gives one that is not in a tuple.
    """

    source: Any
    kind: Kind
    cycle: str = "no"
    batch: bool = True
    batch_info: bool = False
    outputs: int | None = None
    indexed: bool = False

    def __post_init__(self) -> None:
        self._iterator: Iterator[Any] | None = None
        self._ended: int | None = None

    def ask(self, request: Request) -> list[Any]:
        """Data of the request, one entry for each output: a whole batch, or a list of samples.

        Raises
        ------
        StopIteration
            At the end.
        """
        return self.ask_apart(request)[0]

    def ask_apart(self, request: Request) -> tuple[list[Any], dict[int, Exception]]:
        """The answer of :meth:`ask`, and the errors of single samples if the request is tolerant.

        Errors are numbered from the first sample of the request; another sample stands in the place of such a one.

        Raises
        ------
        StopIteration
            At the end.
        """
        if self._ended is not None and self._ended == request.generation:
            raise StopIteration
        try:
            failed: dict[int, Exception] = {}
            return self._columns(self._answers(request, failed if request.tolerant else None)), failed
        except StopIteration:
            self._ended = request.generation if request.generation else None
            raise

    def _answers(self, request: Request, failed: dict[int, Exception] | None) -> Any:
        if not self.batch:
            return self._samples(request, failed)
        if self.kind != "callable":
            return self._next()
        if not self.indexed:
            return self.source()
        return self.source(BatchInfo(request.iteration, request.epoch) if self.batch_info else request.iteration)

    def _samples(self, request: Request, failed: dict[int, Exception] | None) -> list[Any]:
        """The samples of a request; errors of some of them are put into `failed`, if it is given."""
        answers: list[Any] = []
        for index in range(request.start, request.stop):
            try:
                answers.append(self._sample(request, index))
            except StopIteration:
                raise
            except Exception as error:  # the source is the user's
                if failed is None:
                    raise
                failed[len(answers)] = error
                answers.append(None)
        good = next((answer for row, answer in enumerate(answers) if not failed or row not in failed), None)
        if failed and len(failed) == len(answers):
            raise failed[0]
        return [good if failed and row in failed else answer for row, answer in enumerate(answers)]

    def _sample(self, request: Request, index: int) -> Any:
        if self.kind != "callable":
            return self._next()
        if not self.indexed:
            return self.source()
        return self.source(SampleInfo(request.first_sample + index, index, request.iteration, request.epoch))

    def _columns(self, answer: Any) -> list[Any]:
        if self.outputs is None:
            return [answer]
        if not self.batch:
            return [[sample[index] for sample in answer] for index in range(self.outputs)]
        entries = len(answer) if isinstance(answer, (tuple, list)) or getattr(answer, "ndim", 0) > 0 else None
        if entries is None or entries < self.outputs:
            given = type(answer).__name__ if entries is None else f"{entries} entries"
            raise ArgumentError(f"must give a tuple of {self.outputs} batches, got {given}", argument="source")
        return [answer[index] for index in range(self.outputs)]

    def _fresh(self) -> Iterator[Any]:
        return iter(self.source() if self.kind == "generator" else self.source)

    def _next(self) -> Any:
        if self._iterator is None:
            self._iterator = self._fresh()
        try:
            return next(self._iterator)
        except StopIteration:
            if self.cycle == "no":
                raise
            self._iterator = self._fresh()
            if self.cycle == "raise":
                raise
            return next(self._iterator)


def make_source(
    source: Any, cycle: Any = None, batch: bool = True, batch_info: bool = False, outputs: int | None = None
) -> PythonSource:
    """Check a source and describe it.

    Raises
    ------
    ArgumentError
        If it cannot be asked, or cannot be cycled through.
    """
    mode = cycle_mode(cycle)
    kind = kind_of(source)
    if kind == "callable":
        if cycle not in (None, False):
            raise ArgumentError(
                "The argument `cycle` can only be specified if `source` is iterable: a callable knows its own end",
                argument="cycle",
            )
        return PythonSource(source, kind, "no", batch, batch_info, outputs, takes_argument(source))
    if mode != "no" and inspect.isgenerator(source):
        raise ArgumentTypeError(
            "Cannot cycle through a generator - if the generator is a result of calling a generator function, pass that"
            " function instead as `source`.",
            argument="cycle",
        )
    return PythonSource(source, kind, mode, batch, batch_info, outputs)


@dataclass(frozen=True)
class Expected:
    """Layout, type and number of dimensions that the data of an output must have; `None` where they are open."""

    layout: str | None
    dtype: DALIDataType | None
    ndim: int | None


@dataclass(frozen=True)
class External:
    """The declaration of an external source.

    Attributes
    ----------
    node, operator
        Name of the node, and of its operator.
    outputs
        The data that is expected for each output.
    source
        Gives the data; without one it is fed.
    parallel, ahead, bytes_per_sample
        The source runs in worker processes, which keep so many batches ahead; the size of a sample that is expected.
    blocking, repeat_last
        Without a source: wait for data, or give the last batch again.
    no_copy
        Use the memory of the data itself.
    cuda_stream
        Stream on which data on a GPU was made.
    """

    node: str
    operator: str
    outputs: tuple[Expected, ...]
    source: PythonSource | None = None
    parallel: bool = False
    ahead: int = 1
    bytes_per_sample: int = 0
    blocking: bool = False
    repeat_last: bool = False
    no_copy: bool = False
    cuda_stream: Any = None

    def fail(self, message: str, argument: str | None = None) -> ArgumentError:
        """An error about the node, to be raised."""
        return ArgumentError(message, node=self.node or None, operator=self.operator, argument=argument)
