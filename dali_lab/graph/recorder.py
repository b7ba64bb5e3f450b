"""Recorder of the pipeline being defined: it collects operator calls and the nodes that stand for outputs.

Operator calls ask :meth:`Recorder.current`, so nothing below pipelines needs to know them.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dali_lab.model.scalars import ScalarConstant

if TYPE_CHECKING:
    from dali_lab.schema.operator import Operator

_calls = itertools.count()


class _Array(Protocol):
    """Arrays and scalars of NumPy, tensors of frameworks."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


def next_call_number() -> int:
    """A number between those of earlier and later calls."""
    return next(_calls)


@dataclass(eq=False)
class OpCall:
    """One operator call: the mutable precursor of a graph node.

    Attributes
    ----------
    op
        Name under ``fn``.
    device, inputs, arguments, connections
        As in :class:`dali_lab.graph.Node`, with data nodes in place of edges.
    name
        The requested name, or `None`.
    owner
        The recorder that was current, or `None`.
    origin
        ``file:line`` of the user's call.
    placed
        The name of its node, once the graph is built.
    number
        Place in the order of calls.
    together
        Shared by all calls made by one call on lists of inputs, which have one seed; `None` for other calls.
    unnamed
        Its number among the operators of its pipeline that NVIDIA DALI would make up a name for, or −1.
    within
        The sub-graphs around it, each with a slash behind its name: what the name of its node begins with.
    """

    op: str
    device: str
    inputs: tuple[DataNode, ...]
    arguments: Mapping[str, Any]
    connections: Mapping[str, DataNode]
    name: str | None
    outputs: int
    owner: InitVar[Recorder | None] = None
    origin: str = ""
    preserve: bool = False
    suggested: str = ""
    placed: str = ""
    number: int = field(default_factory=lambda: next(_calls))
    unnamed: int = -1
    together: object | None = None

    def __post_init__(self, owner: Recorder | None) -> None:
        # A weak reference: a recorder holds nodes and must be freed as soon as its pipeline is.
        self._recorder = weakref.ref(owner) if owner is not None else None
        self.within = owner.within if owner is not None else ""

    @property
    def recorder(self) -> Recorder | None:
        """The recorder that was current, if its pipeline still exists."""
        return self._recorder() if self._recorder is not None else None


@dataclass(eq=False)
class SubgraphCall:
    """A call of a function under :func:`dali_lab.subgraph`.

    Attributes
    ----------
    function
        The function's name.
    within
        The names of its nodes begin with it.
    inputs, arguments
        What it was called with.
    results
        What it returned.
    """

    function: str
    within: str
    inputs: Sequence[object] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)
    results: object = None


class ConditionScopes(Protocol):
    """Conditions around the code being traced, implemented by :mod:`dali_lab.conditionals`."""

    @property
    def depth(self) -> int:
        """Number of nested conditions."""

    def scope(self) -> DataNode | None:
        """A node with as many samples as the branch being traced."""

    def bring(self, node: DataNode) -> DataNode:
        """The part of a node's batch that belongs to the branch being traced."""

    def enter(
        self, inputs: Sequence[DataNode], connections: Mapping[str, DataNode]
    ) -> tuple[tuple[DataNode, ...], dict[str, DataNode]]:
        """The inputs of a call as the branch being traced sees them."""

    def record(self, call: OpCall) -> None:
        """Note a call as made in this branch."""


class _Stack(threading.local):
    """Current recorders of each thread, innermost last; `None` stands for no pipeline."""

    def __init__(self) -> None:
        self.recorders: list[Recorder | None] = []


_stack = _Stack()


class Recorder:
    """Records the calls of operators for one pipeline.

    Attributes
    ----------
    owner
        Returns the pipeline if it still exists: the recorder does not keep it alive.
    sinks
        Nodes that run although no output depends on them.
    conditions
        The condition scopes, where conditions on nodes are traced.
    unnamed
        Number of the next operator that NVIDIA DALI would make up a name for.
    within
        The sub-graphs that are being called, each with a slash behind its name.
    subgraphs
        All that were called, by what the names of their nodes begin with.
    checks_at_build
        Values and combinations that operators refuse are found when the pipeline is built, and inputs on a GPU of
        operators on the CPU are refused, as in NVIDIA DALI; else they are refused by the call.
    """

    checks_at_build = False

    def __init__(self, owner: Callable[[], object | None] = lambda: None) -> None:
        self.owner = owner
        self.sinks: list[DataNode] = []
        self.conditions: ConditionScopes | None = None
        self.unnamed = 0
        self.within = ""
        self.subgraphs: dict[str, SubgraphCall] = {}

    def results(self, call: OpCall, device: str) -> tuple[DataNode, ...]:
        """The nodes that stand for the outputs of a recorded call."""
        return tuple(DataNode(call, index, device) for index in range(call.outputs))

    def adopted(self, item: object) -> DataNode | None:
        """External data as a node, where that is possible."""
        return None

    def ignores(self, operator: type[Operator], argument: str) -> bool:
        """Whether a call with an argument that its operator does not have goes on without it."""
        return False

    @staticmethod
    def current() -> Recorder | None:
        """The recorder of the pipeline being defined on this thread, or whose Python function runs on it."""
        return _stack.recorders[-1] if _stack.recorders else None

    @staticmethod
    def checks_late() -> bool:
        """Whether calls on this thread, in or before a pipeline, leave checks to its building: `checks_at_build`."""
        if not _stack.recorders:
            return Recorder.checks_at_build
        recorder = _stack.recorders[-1]
        return recorder is not None and recorder.checks_at_build

    @staticmethod
    def push(recorder: Recorder | None) -> None:
        """Make a recorder the current one; `None` stands for no pipeline."""
        _stack.recorders.append(recorder)

    @staticmethod
    def pop() -> None:
        """Undo the last :meth:`push`."""
        _stack.recorders.pop()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Make this recorder current within the block."""
        Recorder.push(self)
        try:
            yield
        finally:
            Recorder.pop()


@contextmanager
def outside() -> Iterator[None]:
    """Make no pipeline current within the block."""
    Recorder.push(None)
    try:
        yield
    finally:
        Recorder.pop()


class _NewAxis:
    """Stands for a new axis in an index; called with a letter, it names the axis in the layout."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            if not isinstance(name, str):
                raise TypeError("the name of a new axis is a string of one letter")
            if len(name) != 1:
                raise ValueError("the name of a new axis is a string of one letter")
        self._name = name

    @property
    def name(self) -> str | None:
        """The axis letter, or `None`."""
        return self._name

    def __call__(self, name: str | None = None) -> _NewAxis:
        return _NewAxis(name)


newaxis = _NewAxis()


class DataNode:
    """Symbol for an operator's output batch in a pipeline definition.

    It carries no data. It can be passed to operators, used in expressions and indexed, and returned as an output.

    Parameters
    ----------
    source
        The call that makes it.
    index
        Number of the output.
    device
        ``"cpu"`` or ``"gpu"``.
    """

    if TYPE_CHECKING:  # what `EXPRESSIONS` below adds

        def _binary(
            self, other: DataNode | ScalarConstant | float | list[Any] | tuple[Any, ...] | _Array, /
        ) -> DataNode: ...
        def _unary(self) -> DataNode: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _binary
        __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = _binary
        __neg__ = __pos__ = __invert__ = __abs__ = _unary

    dtype = ndim = layout = None
    """As in NVIDIA DALI; nothing is known about the batch before the pipeline runs."""

    def __init__(self, source: OpCall | str, index: int = 0, device: str = "cpu") -> None:
        # Programs for NVIDIA DALI make nodes of a name alone, which stand for nothing.
        self.source = OpCall("", device, (), {}, {}, source, 1) if isinstance(source, str) else source
        self.index = index
        self.device = device

    @property
    def name(self) -> str:
        """The name of the node, with the number of the output where there are several."""
        from dali_lab.graph.dali_names import made_up_name

        base = self.source.name or made_up_name(self.source.op, self.source.number)
        return f"{base}[{self.index}]" if self.source.outputs > 1 else base

    def __repr__(self) -> str:
        return f'DataNode(name="{self.name}", device="{self.device}", op="{self.source.op}", index={self.index})'

    def gpu(self) -> DataNode:
        """The same batch on the GPU (on the CPU where there is none)."""
        return self._on("gpu")

    def cpu(self) -> DataNode:
        """The same batch on the CPU."""
        return self._on("cpu")

    def _on(self, device: str) -> DataNode:
        return self if self.device == device else DataNode(self.source, self.index, device)

    def shape(self, *, dtype: object = None, device: str = "cpu") -> DataNode:
        """The shapes of the samples, as a node of one-dimensional tensors."""
        from dali_lab.graph.tracing import call_operator

        node: DataNode = call_operator("_shape", (self,), {"dtype": dtype, "device": device})
        return node

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """A property of each sample as a node: ``"source_info"`` or ``"layout"``, as bytes."""
        from dali_lab.graph.tracing import call_operator

        node: DataNode = call_operator("get_property", (self,), {"key": key, "device": device})
        return node

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """The source of each sample, as a node of bytes."""
        return self.property("source_info", device=device)

    def __getitem__(self, index: object) -> DataNode:
        from dali_lab.graph.expressions import subscript

        return subscript(self, index)

    def __bool__(self) -> bool:  # for type checkers, which see conditions before they are rewritten
        raise TypeError(
            f"{self!r} has no value while the pipeline is being defined."
            ' "DataNode" was used in conditional context - it might have been used in truth evaluation for `if`'
            " statement, logical expression or cast to a boolean. To use conditional execution via `if` statements you"
            " need to specify `enable_conditionals=True` in `@nvidia.dali.pipeline_def` decorator. You can read more"
            " about conditional execution in specific section of the Pipeline documentation. Bool conversion can be"
            " achieved with the `cast` operator."
        )

    __iter__ = None  # no node is an `Iterable`: programs tell one output from several by that
    __hash__ = object.__hash__
    __array_ufunc__ = None  # so that numpy leaves ``array + node`` to the node


def _expression(name: str, *, swap: bool = False, unary: bool = False) -> Any:
    def binary_method(self: DataNode, other: Any) -> Any:
        from dali_lab.graph.expressions import is_operand, operation

        if not is_operand(other) and name not in ("eq", "neq") and not isinstance(other, (list, tuple)):
            return NotImplemented
        if swap:
            # NumPy hands over its scalar on the left as a Python number, so in NVIDIA DALI its type does not count.
            return operation(name, other.item() if getattr(other, "shape", None) == () else other, self)
        return operation(name, self, other)

    def unary_method(self: DataNode) -> Any:
        from dali_lab.graph.expressions import operation

        return operation(name, self)

    return unary_method if unary else binary_method


_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "fdiv": "truediv", "div": "floordiv", "mod": "mod", "pow": "pow",
    "bitand": "and", "bitor": "or", "bitxor": "xor", "lshift": "lshift", "rshift": "rshift",
}  # fmt: skip
_COMPARED = {"eq": "eq", "neq": "ne", "lt": "lt", "leq": "le", "gt": "gt", "geq": "ge"}
_UNARY = {"minus": "neg", "plus": "pos", "bitnot": "invert", "abs": "abs"}
EXPRESSIONS = {
    **{f"__{method}__": _expression(name) for name, method in {**_BINARY, **_COMPARED}.items()},
    **{f"__r{method}__": _expression(name, swap=True) for name, method in _BINARY.items()},
    **{f"__{method}__": _expression(name, unary=True) for name, method in _UNARY.items()},
}
"""Python's operators on nodes, by the names of their methods."""
for _name, _method in EXPRESSIONS.items():
    setattr(DataNode, _name, _method)

__all__ = ["DataNode", "OpCall", "ScalarConstant", "newaxis"]
