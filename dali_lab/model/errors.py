"""Error classes; each error names its cause: operator, node, argument, sample, file, the user's line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from dali_lab.io.locations import shown
from dali_lab.model.user_code import rendered

LONGEST = 20_000
"""Characters of a message, and of a file's name in it: values of any length stand in messages."""


class DaliLabError(RuntimeError):
    """Base of the errors that this package raises on purpose.

    Parameters
    ----------
    message
        A sentence that names the fault and the remedy. Secrets of URLs in it are left out.
    node, operator
        The node's name and its operator's name under ``fn``.
    function
        Name of a function that is no operator, such as ``auto_aug.rand_augment``.
    argument
        The argument at fault.
    sample
        Index of the failed sample in its batch.
    source
        File (or other origin) of the failed sample.
    origin
        ``file:line`` where the user placed the node.
    code
        Error code for programs; by default that of its class.
    """

    default_code: ClassVar[str] = "failed"

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        operator: str | None = None,
        function: str | None = None,
        argument: str | None = None,
        sample: int | None = None,
        source: str | None = None,
        origin: str | None = None,
        code: str | None = None,
    ) -> None:
        self.message = message = _told(message)
        self.code = code or self.default_code
        self.node = node
        self.operator = operator
        self.function = function
        self.argument = argument
        self.sample = sample
        self.source = None if source is None else _told(source)
        self.origin = origin
        super().__init__(message)

    def __str__(self) -> str:
        place = self.function or ""
        if self.operator:
            place = f"fn.{self.operator}"
            if self.node:
                place += f" (node '{self.node}')"
        elif self.node:
            place = f"node '{self.node}'"
        if self.argument:
            place += f", argument '{self.argument}'" if place else f"argument '{self.argument}'"
        if self.sample is not None:
            place += f", sample {self.sample}" if place else f"sample {self.sample}"
        text = f"{place}: {self.message}" if place else self.message
        if self.source:
            text += f"\n  file: {self.source}"
        if self.origin:
            text += f"\n  placed at: {self.origin}"
        return text

    def locate(self, node: str = "", operator: str = "", origin: str = "") -> None:
        """Fill in the place that the error does not name yet."""
        self.node = self.node or node or None
        self.operator = self.operator or operator or None
        self.origin = self.origin or origin or None

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows in a cell: frames of the user's code alone, all frames in its mode "Verbose"."""
        return rendered(self)

    def __reduce__(self) -> tuple[object, ...]:
        fields = ("node", "operator", "function", "argument", "sample", "source", "origin", "code")
        return _rebuild, (type(self), self.message, {name: getattr(self, name) for name in fields})


def _told(text: str) -> str:
    """A text of bearable length, without secrets."""
    return shown(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}")


def _rebuild(kind: type[DaliLabError], message: str, fields: dict[str, object]) -> DaliLabError:
    return kind(message, **fields)  # type: ignore[arg-type]


class GraphError(DaliLabError, ValueError):
    """A graph that cannot run: a cycle, a missing input, an unknown operator, a wrong connection."""

    default_code = "graph_invalid"


class ArgumentError(GraphError):
    """An argument that an operator does not take, or a value outside what it takes."""

    default_code = "argument_invalid"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of the wrong type."""

    default_code = "argument_type"


class AssertedError(ArgumentError, AssertionError):
    """An argument that NVIDIA DALI refuses by an assertion."""


class UnknownArgumentError(ArgumentTypeError, KeyError):
    """An argument that the operator does not have."""

    default_code = "argument_unknown"


class OperatorError(DaliLabError):
    """An operator that failed on its data."""

    default_code = "operator_failed"


class SampleError(OperatorError):
    """One sample that failed; `sample` counts within the call and is translated to the batch by the executor."""

    default_code = "sample_failed"


class UnlikeSampleError(SampleError):
    """A sample that cannot be in one batch with those before it."""


class InputError(OperatorError, ValueError):
    """An input whose layout, number of dimensions or named axes the operator does not take."""

    default_code = "input_invalid"


class AxisError(OperatorError, IndexError):
    """An axis that samples do not have."""

    default_code = "axis_missing"


class NotFedError(OperatorError, IndexError):
    """A run for which an input of the pipeline was given no batch."""


class FormatError(DaliLabError, ValueError):
    """A file that cannot be read as its format: truncated, of another kind, or from a newer version."""

    default_code = "file_invalid"


def as_ours(
    error: BaseException, *, node: str | None = None, sample: int | None = None, source: str | None = None
) -> DaliLabError:
    """The error of this package for one that was raised by a library; the latter is its cause.

    Parameters
    ----------
    error
        The error; one of this package stays as it is.
    node, sample, source
        Where it was, as in :class:`DaliLabError`.
    """
    if isinstance(error, DaliLabError):
        return error
    what = "there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    kind = OperatorError if sample is None else SampleError
    wrapped = kind(f"{what}: {error}" if str(error) else what, node=node, sample=sample, source=source)
    wrapped.__cause__ = error
    return wrapped


def nearest(word: str, words: Iterable[str]) -> str:
    """Say ``", did you mean 'x'?"`` for the word most like `word`, or nothing."""
    import difflib  # when something is wrong already

    found = difflib.get_close_matches(word, list(words), n=1, cutoff=0.55)
    return f", did you mean '{found[0]}'?" if found else ""


class DeviceError(RuntimeError):
    """A device cannot be used; the message says why and what to do."""


class OutOfDeviceMemory(DeviceError, MemoryError):
    """An allocation that did not fit, even after all unused memory had been given back."""
