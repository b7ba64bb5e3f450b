"""The base class of operators, the call that a kernel is given, and the cases that a declaration carries."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.errors import ArgumentError, GraphError, OperatorError, SampleError
from dali_lab.schema.arguments import REQUIRED, SEED, Arg, Input, Output, common_arguments
from dali_lab.types import DALIDataType

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

Results = Batch | tuple[Batch, ...]
LARGEST_SAMPLE = 1 << 40
"""Elements of a sample beyond which a shape is taken for a mistake."""


class Operator:
    """One operator: its declaration as class attributes, one instance for each node of a running graph.

    A subclass is registered with :func:`dali_lab.schema.register` and stands in a file of its own. It must not
    import kernels, OpenCV or Numba at module level: declarations are read wherever the package is imported.

    Attributes
    ----------
    name
        Path under ``fn``, such as ``"decoders.image"``.
    schema_name
        NVIDIA DALI's name for it in serialized pipelines, such as ``"decoders__Image"``.
    family
        Folder of the palette: one of the families in :mod:`dali_lab.schema.families`.
    title
        The name that people read.
    inputs, outputs, arguments
        The declaration; ``name``, ``preserve`` and, where `random` is set, ``seed`` are added to the arguments.
    devices
        Placements it takes: ``"cpu"``, ``"gpu"``, ``"mixed"``.
    on_gpu
        `run` works on device memory: all that touches samples is kernels from :meth:`Call.kernels`, and all memory is
        from :meth:`Call.allocate` and :meth:`Call.scratch`. `setup` may take it back for some arguments.
    cpu_inputs
        Inputs that `run` reads on the CPU even if the node runs on a GPU (positions, sizes, matrices).
    gpu_tolerance
        Largest difference between both devices, and why there is one.
    random
        It draws random numbers and takes a ``seed``.
    whole_batch
        It must see all samples of a batch at once; `setup` may decide it.
    frames
        Sequences are cut into frames before `run` and joined after it.
    source
        It has no inputs and makes its samples in order; see :meth:`draw`.
    transient
        For a `source`, set by who runs it: batches are used and given back soon, as a preview's are not.
    ends
        For a `source`: `draw` may raise :class:`StopIteration`; such sources are asked before the others.
    in_order
        Batches go through it one after the other, never two at once.
    exact_layout
        Leave the layout of inputs as it is, and accept any.
    beyond_dali
        NVIDIA DALI has no such operator.
    tested_elsewhere
        Where its conformance is tested, if not by cases (readers, external sources).
    differs
        A sentence on where it differs from NVIDIA DALI, if it does.
    """

    name: ClassVar[str]
    schema_name: ClassVar[str] = ""
    family: ClassVar[str] = "tensor"
    title: ClassVar[str] = ""
    inputs: ClassVar[tuple[Input, ...]] = ()
    outputs: ClassVar[tuple[Output, ...]] = (Output("output"),)
    arguments: ClassVar[tuple[Arg, ...]] = ()
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    random: ClassVar[bool] = False
    on_gpu: bool = False
    cpu_inputs: ClassVar[tuple[int, ...]] = ()
    gpu_tolerance: ClassVar[tuple[float, str]] = (0.0, "")
    whole_batch: bool = False
    frames: ClassVar[bool] = False
    source: ClassVar[bool] = False
    ends: bool = False
    in_order: ClassVar[bool] = False
    joins_scopes: ClassVar[bool] = False
    hidden: ClassVar[bool] = False
    deprecated: ClassVar[str] = ""
    beyond_dali: ClassVar[bool] = False
    tested_elsewhere: ClassVar[str] = ""
    differs: ClassVar[str] = ""
    example: ClassVar[str] = ""
    argument_table: ClassVar[dict[str, Arg]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        table = {arg.name: arg for arg in cls.arguments}
        if cls.random and "seed" not in table:
            table["seed"] = SEED
        cls.argument_table = {**table, **{k: v for k, v in common_arguments().items() if k not in table}}

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        """Keep the constants; `values` hold canonical values, without ``name`` and ``preserve``."""
        self.node = node
        self.device = device
        self.connected = frozenset(connected)
        self.values: dict[str, Any] = {
            name: values.get(name, None if arg.default is REQUIRED else arg.default)
            for name, arg in self.argument_table.items()
        }
        self.given = frozenset(values) | self.connected
        self.seed = int(self.values.get("seed", -1) if self.values.get("seed") is not None else -1)
        self.checkpointing = False
        self.transient = False
        self.seed_node = ""
        self._repeated: dict[tuple[str, Any], npt.NDArray[Any]] = {}
        self.setup()

    def setup(self) -> None:
        """Check what a single argument's range cannot say, and prepare constants; called once for each node.

        Raises
        ------
        ArgumentError
            If arguments contradict each other.
        """

    def run(self, *args: Any, **kwargs: Any) -> Results:
        """Process one chunk; subclasses declare ``run(self, call, first, second, …)``, one batch for each input.

        They return as many samples in each output as came in, and give the GIL up where time is spent.
        """
        raise NotImplementedError(f"{self.name} has no CPU implementation")

    def ready(self) -> bool:
        """For a `source`: whether :meth:`draw` could decide now; not so while it waits to be fed."""
        return True

    def draw(self, batch_size: int) -> Draw:
        """For a `source`: decide what the next batch holds; called once for each batch, in order.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        return Draw(batch_size)

    def reset(self) -> None:
        """For a `source`: begin the next epoch."""

    def state(self) -> Any:
        """For a `source`: what :meth:`restore` needs to go on from here, as plain JSON values."""
        return None

    def restore(self, state: Any) -> None:
        """Go on from where :meth:`state` was taken."""

    def reader_meta(self) -> dict[str, int] | None:
        """For a reader: what ``Pipeline.reader_meta`` tells of it."""
        return None

    def close(self) -> None:
        """Give up processes, files and other things that outlive a call."""

    @classmethod
    def cut_of_output(cls, index: int) -> int | None:
        """For operators that cut a batch in two by their argument ``predicate``: which of the groups this output is."""
        return None

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        """Number of outputs for these arguments."""
        return len(cls.outputs)

    @classmethod
    def count_outputs(cls, values: Mapping[str, Any], inputs: int) -> int:
        """Number of outputs for these arguments and this many inputs."""
        return cls.output_count(values)

    @classmethod
    def python_call(cls, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What ``fn.<name>(*inputs, **kwargs)`` does while a pipeline is defined: record one call."""
        from dali_lab.graph.tracing import call_operator

        return call_operator(cls.name, inputs, kwargs)

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        """Check arguments against each other before anything runs.

        Raises
        ------
        GraphError
            If they contradict each other.
        """

    @classmethod
    def cases(cls) -> Iterable[Case]:
        """Sample cases that the conformance tests run in both engines."""
        return ()

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        """Cases that must raise, with words that the message must hold."""
        return ()

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the documentation."""
        return (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ").replace("\n", " ")

    def value(self, name: str) -> Any:
        """A constant argument: what was given, else its default, else `None`.

        Raises
        ------
        ArgumentError
            If a node is connected to it; ask the call for its values then.
        """
        if name in self.connected:
            raise ArgumentError(
                "must be a constant here, not a node", argument=name, operator=self.name, node=self.node
            )
        return self.values[name]

    def has(self, name: str) -> bool:
        """Whether the argument was given, as a constant or as a node."""
        return name in self.given and (name in self.connected or self.values[name] is not None)

    def fail(self, message: str, argument: str | None = None) -> ArgumentError:
        """An error about this node, to be raised."""
        return ArgumentError(message, node=self.node or None, operator=self.name, argument=argument)


@dataclass
class Draw:
    """What a source decided about one batch.

    Attributes
    ----------
    count
        Number of samples in the batch.
    ticket
        Anything; each call of the batch sees it.
    """

    count: int
    ticket: Any = None


@dataclass
class Call:
    """What `run` is told besides its inputs: which samples these are, and the arguments for each of them.

    Attributes
    ----------
    operator
        The node's operator.
    start, count
        The samples are ``start … start + count - 1`` of their batch.
    batch_size
        Samples in the whole batch (before conditionals cut it).
    iteration
        Batch number since the pipeline was built.
    drawn_before
        Samples that this operator has seen in earlier batches; random streams start there.
    seed
        The operator's seed.
    ticket
        What the source's `draw` left.
    batches
        Connected arguments by name.
    repeat
        For a call on frames: number of frames in each sample.
    place
        Offers memory for an output: ``place(output, shapes, dtype, layout)``.
    cancelled
        Returns whether the result is no longer wanted.
    gpu
        Where kernels are launched, if the node runs on a GPU; inputs and outputs are device memory then, connected
        arguments (`batches`) are not.
    """

    operator: Operator
    start: int
    count: int
    batch_size: int = 0
    iteration: int = 0
    drawn_before: int = 0
    seed: int = 0
    ticket: Any = None
    batches: Mapping[str, Batch] = field(default_factory=dict)
    repeat: npt.NDArray[np.int64] | None = None
    place: Callable[[int, npt.NDArray[np.int64], DALIDataType, str], Batch | None] | None = None
    cancelled: Callable[[], bool] = lambda: False
    sources: tuple[str, ...] | None = None
    gpu: Launcher | None = None

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """Index in the batch of each sample, ``int64[count]``."""
        return np.arange(self.start, self.start + self.count, dtype=np.int64)

    def allocate(self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", *, output: int = 0) -> Batch:
        """Memory for an output, in the output batch itself where the executor knows it already.

        Raises
        ------
        OperatorError
            If a shape is negative, or larger than memory can be.
        """
        table = np.asarray(shapes, np.int64)
        if table.ndim != 2:
            table = table.reshape(self.count, -1)
        self._check_shapes(table, dtype)
        if self.gpu is not None:
            batch = self.gpu.batch(table, dtype, layout)
            batch.sources = self.sources
            return batch
        if self.place is not None and self.repeat is None:
            placed = self.place(output, table, dtype, layout)
            if placed is not None:
                placed.sources = self.sources
                return placed
        return Batch.allocate(table, dtype, layout, self.sources)

    def _check_shapes(self, table: npt.NDArray[np.int64], dtype: DALIDataType) -> None:
        elements = table.prod(axis=1, dtype=np.float64)  # int64 would wrap
        wrong = (table < 0).any(axis=1) | (elements > LARGEST_SAMPLE)
        if wrong.any():
            index = int(wrong.argmax())
            raise self.problem(
                f"the output would have the shape {table[index].tolist()} of {dtype.name};"
                f" extents are not negative, and a sample has at most 2^{LARGEST_SAMPLE.bit_length() - 1} elements",
                sample=index,
            )

    def scratch(self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "") -> Batch:
        """Memory for what lies between input and output, where the node runs."""
        return Batch.allocate(shapes, dtype, layout) if self.gpu is None else self.gpu.batch(shapes, dtype, layout)

    def kernels(self, module: str) -> Any:
        """The kernels of a module of :mod:`dali_lab.kernels`, such as ``"copy"``, for where the node runs.

        Both devices have the same functions with the same arguments: tables of addresses and shapes, and arrays of
        parameters on the CPU.

        Raises
        ------
        OperatorError
            If the GPU has no such kernels.
        """
        if self.gpu is None:
            return importlib.import_module(f"dali_lab.kernels.cpu.{module}")
        return _Kernels(self, module)

    def numbers(self, name: str, dtype: npt.DTypeLike = np.float32, default: float | None = None) -> npt.NDArray[Any]:
        """A scalar argument as one number for each sample, ``[count]``.

        Raises
        ------
        OperatorError
            If a connected node gives another number of elements than one.
        """
        return self.vectors(name, 1, dtype, default)[:, 0]

    def vectors(
        self, name: str, length: int, dtype: npt.DTypeLike = np.float32, default: Any = None
    ) -> npt.NDArray[Any]:
        """A vector argument as ``[count, length]``; a single element stands for all `length`.

        Raises
        ------
        OperatorError
            If there are neither 1 nor `length` elements.
        """
        batch = self.batches.get(name)
        if batch is not None:
            return self._from_batch(name, batch, length, dtype)
        value = self.operator.values.get(name)
        if value is None:
            value = default
        key = (name, (length, np.dtype(dtype), None if value is self.operator.values.get(name) else repr(default)))
        rows = self.operator._repeated.get(key)
        if rows is None or len(rows) < self.count:
            row = np.atleast_1d(np.asarray(value)).astype(dtype).reshape(-1)
            if row.size not in (1, length):
                raise self.problem(f"takes 1 or {length} values, got {row.size}", argument=name)
            rows = np.empty((max(self.count, self.batch_size), length), dtype)
            rows[:] = row
            rows.flags.writeable = False
            self.operator._repeated[key] = rows
        return rows[: self.count]

    def lists(self, name: str, dtype: npt.DTypeLike = np.float32) -> list[npt.NDArray[Any]] | None:
        """A vector argument whose length may differ between samples, one flat array each; `None` if not given."""
        batch = self.batches.get(name)
        if batch is not None:
            rows = [array.reshape(-1).astype(dtype, copy=False) for array in batch.arrays()]
            if self.repeat is not None and len(rows) != self.count:
                rows = [row for row, times in zip(rows, self.repeat, strict=True) for _ in range(times)]
            return rows
        value = self.operator.values.get(name)
        if value is None:
            return None
        return [np.atleast_1d(np.asarray(value)).astype(dtype).reshape(-1)] * self.count

    def has(self, name: str) -> bool:
        """Whether the argument was given."""
        return self.operator.has(name)

    def problem(
        self, message: str, *, argument: str | None = None, sample: int | None = None, source: str | None = None
    ) -> OperatorError:
        """An error about this call, to be raised; `sample` counts within the call."""
        kind = OperatorError if sample is None else SampleError
        return kind(
            message,
            node=self.operator.node or None,
            operator=self.operator.name,
            argument=argument,
            sample=None if sample is None else sample + self.start,
            source=source,
        )

    def _from_batch(self, name: str, batch: Batch, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        if batch.is_uniform():
            rows = batch.stacked()
            per_frame = self.repeat is not None and batch.layout.startswith("F") and batch.ndim >= 1
            if per_frame:
                rows = self._spread_frames(name, [row.reshape(row.shape[0], -1) for row in rows])
            else:
                rows = rows.reshape(len(batch), -1)
                if self.repeat is not None:
                    rows = np.repeat(rows, self.repeat, axis=0)
        elif self.repeat is not None and batch.layout.startswith("F"):
            rows = self._spread_frames(name, [array.reshape(array.shape[0], -1) for array in batch.arrays()])
        else:
            raise self.problem("must have as many elements in each sample", argument=name)
        if rows.shape[1] == 1 and length != 1:
            rows = np.broadcast_to(rows, (rows.shape[0], length))
        if rows.shape[1] != length:
            wanted = "1 value" if length == 1 else f"1 or {length} values"
            raise self.problem(f"takes {wanted} for each sample, got {rows.shape[1]}", argument=name)
        return np.ascontiguousarray(rows.astype(dtype, copy=False))

    def _spread_frames(self, name: str, samples: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        assert self.repeat is not None
        parts = []
        for index, (rows, frames) in enumerate(zip(samples, self.repeat.tolist(), strict=True)):
            if rows.shape[0] not in (1, frames):
                raise self.problem(
                    f"has {rows.shape[0]} frames of values for a sequence of {frames}", argument=name, sample=index
                )
            parts.append(np.repeat(rows, frames, axis=0) if rows.shape[0] == 1 else rows)
        return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)


class _Kernels:
    """The functions of a module of CUDA kernels, with the launcher of a call as their first argument."""

    def __init__(self, call: Call, module: str) -> None:
        self._call = call
        self._name = f"dali_lab.kernels.cuda.{module}"
        try:
            self._module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            if error.name != self._name:
                raise
            raise call.problem("does not run on the GPU yet; place it on the CPU (device='cpu')") from None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name, None)
        if found is None:
            raise self._call.problem("does not run on the GPU with these arguments; place it on the CPU (device='cpu')")
        return functools.partial(found, self._call.gpu) if getattr(found, "launches", False) else found


@dataclass(frozen=True)
class Case:
    """One comparison with NVIDIA DALI.

    Attributes
    ----------
    inputs
        One entry for each input: a list of arrays (one a sample) or ``(list, layout)``.
    arguments
        Constants, or for argument inputs a list of arrays wrapped in :class:`PerSample`.
    tolerance
        Largest allowed absolute difference; 0 asks for equality.
    reason
        Why the tolerance is what it is; needed when it is not 0.
    fraction
        Share of elements that may lie beyond the tolerance (for nearest-neighbour ties and the like).
    batches
        Number of batches to compare (for random operators more than one).
    """

    inputs: tuple[Any, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    reason: str = ""
    fraction: float = 0.0
    batches: int = 1
    batch_size: int = 3
    name: str = ""


@dataclass(frozen=True)
class PerSample:
    """Values of a connected argument: one array for each sample of the batch, with a layout if they have one."""

    values: Sequence[Any]
    layout: str = ""


@dataclass(frozen=True)
class ErrorCase:
    """A case that must raise with all of `words` in the message."""

    inputs: tuple[Any, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    batch_size: int = 3


__all__ = ["Call", "Case", "Draw", "ErrorCase", "GraphError", "Operator", "PerSample", "Results"]
