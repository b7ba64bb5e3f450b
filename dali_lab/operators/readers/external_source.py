"""Takes batches from Python."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dali_lab.device.incoming import device_batch
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import NO_TYPE, DALIDataType
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, OperatorError
from dali_lab.model.incoming import checked_batch, incoming_batch
from dali_lab.operators.readers.python_sources import PythonSource, Request, make_source
from dali_lab.schema import Arg, Call, Operator, Output, flag, integer, register
from dali_lab.schema.operator import Extent, Record
from dali_lab.schema.source import Draw

if TYPE_CHECKING:
    from dali_lab.device.interface import Device
    from dali_lab.executor.sources.workers import ParallelSource

_PARALLEL_ONLY = ("prefetch_queue_depth", "bytes_per_sample_hint")


@register
class ExternalSource(Operator):
    """Takes batches from a Python callable, iterable or generator, or from ``Pipeline.feed_input``.

    A callable takes no argument, or one: the number of the batch (or a ``BatchInfo``), or with ``batch=False`` a
    ``SampleInfo``. It ends the epoch by raising ``StopIteration``. Without a source, batches are fed by
    ``Pipeline.feed_input`` or ``Pipeline.run(name=...)``.
    """

    name = "external_source"
    schema_name = "ExternalSource"
    outputs = (Output("output", kind="any", doc="What the source gave, one batch an iteration."),)
    devices = ("cpu", "gpu")
    source = True
    fed = True
    python_objects = ("source",)
    serialized_arguments = frozenset({"layout", "dtype", "ndim", "blocking", "repeat_last", "no_copy"})
    tested_elsewhere = "tests/unit/pipeline/test_external_source.py"
    arguments = (
        Arg("source", "object", None, "A callable, an iterable or a generator function, of batches or of samples."),
        integer("num_outputs", None, "Number of outputs; when given, the source gives tuples.", minimum=1),
        Arg(
            "cycle",
            "object",
            None,
            "At the end of an iterable: 'no' stops for good, 'quiet' begins again, 'raise' ends the epoch first.",
        ),
        Arg("layout", "layout", None, "Layout of the samples, one for each output.", vector=True),
        Arg("dtype", "dtype", None, "Type that the data must have, one for each output.", vector=True),
        Arg("ndim", "object", None, "Number of dimensions that a sample must have, one for each output."),
        Arg("batch", "bool", None, "The source gives batches; otherwise single samples."),
        flag("batch_info", "A callable for batches gets a BatchInfo instead of the number of the batch."),
        flag("parallel", "Run the source in worker processes of the pipeline."),
        flag("blocking", "Without a source: wait until a batch is fed, instead of raising."),
        flag("repeat_last", "Without a source: give the last batch again until another one is fed."),
        Arg(
            "no_copy",
            "bool",
            None,
            "Use the memory of the data itself; it must stay as it is until the batch was used.",
            advanced=True,
        ),
        integer("prefetch_queue_depth", None, "Batches that worker processes keep ahead.", minimum=1, advanced=True),
        integer(
            "bytes_per_sample_hint",
            None,
            "Expected size of a sample, for the shared memory of workers.",
            minimum=1,
            advanced=True,
        ),
        Arg(
            "cuda_stream",
            "object",
            None,
            "Stream on which GPU data was made, if not the one that the data name, or PyTorch's current one.",
            advanced=True,
        ),
        Arg("use_copy_kernel", "bool", None, "No effect here.", advanced=True),
    )

    # -- definition ---------------------------------------------------------------------------------------------
    example = '>>> images, labels = fn.external_source(source=batches, num_outputs=2, layout=["HWC", ""])'

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return int(values.get("num_outputs") or 1)

    @classmethod
    def one_for_each_output(cls, values: Mapping[str, Any]) -> bool:
        return values.get("num_outputs") is not None

    @classmethod
    def state_after(cls, batches: int, batch_size: int, epoch: int) -> Any:
        return {"iteration": batches, "sample": batches * batch_size, "epoch": epoch}

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = {**dict(zip(("source", "num_outputs"), inputs, strict=False)), **kwargs}
        if len(inputs) > 2:
            raise ArgumentTypeError("takes source and num_outputs as positional arguments", operator=cls.name)
        if given.get("dtype") is NO_TYPE:
            given.pop("dtype")
        if given.get("parallel") and given.get("batch") is None:
            given["batch"] = True
        outputs, layouts = given.get("num_outputs"), given.get("layout")
        if isinstance(layouts, (list, tuple)) and layouts and isinstance(outputs, int):
            # A list may be for the first outputs.
            given["layout"] = [*layouts, *[""] * (outputs - len(layouts))]
        nodes = record(cls.name, (), given)
        return [nodes] if given.get("num_outputs") is not None and not isinstance(nodes, list) else nodes

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Any, inputs: int) -> None:
        source, parallel = values.get("source"), bool(values.get("parallel"))
        if source is None:
            for name in ("num_outputs", "cycle", "parallel"):
                if values.get(name):
                    raise ArgumentError("needs a source; data that is fed has one node for each output", argument=name)
            return
        if values.get("repeat_last"):
            raise ArgumentError("is for data that is fed, not for a source", argument="repeat_last")
        if hasattr(source, "resolve"):  # a name in a graph file, which is imported only when the file is trusted
            return
        described = describe(values)
        if not parallel:
            for name in _PARALLEL_ONLY:
                if values.get(name) is not None:
                    raise ArgumentError("is for parallel sources alone (parallel=True)", argument=name)
            return
        if values.get("no_copy") is False:
            raise ArgumentError("cannot be False for a parallel source", argument="no_copy")
        if described.kind == "callable" and not described.indexed:
            raise ArgumentTypeError(
                "must take one argument in a parallel source: the batch or sample that is asked for", argument="source"
            )
        if described.kind != "callable" and not described.batch:
            raise ArgumentTypeError(
                "must give batches (batch=True), as a parallel source that is no callable", argument="source"
            )

    # -- at work ------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        source = self.values["source"]
        if source is not None and hasattr(source, "resolve"):
            raise self.fail(
                f"{source!r} comes from a graph file that is not trusted; load it with trust=True", "source"
            )
        self.target: Device | None = None
        self.described = describe(self.values) if source is not None else None
        self.ends = self.described is not None
        self.workers: ParallelSource | None = None
        self._iteration = 0
        self._sample = 0
        self._epoch = 0
        self._fed: deque[Batch] = deque()
        self._last: Batch | None = None
        self._kinds: dict[int, dict[str, Any]] = {}
        self._arrived = threading.Condition()
        self._closed = False

    def extents(self) -> tuple[Extent, ...]:
        return tuple(self._extent(index) for index in range(self.output_count(self.values)))

    def _extent(self, index: int) -> Extent:
        layout, dtype, ndim = (self._each(name, index) for name in ("layout", "dtype", "ndim"))
        axes = len(layout) if layout else ndim
        return Extent(
            None if axes is None else (-1,) * int(axes), None if dtype in (None, NO_TYPE) else dtype, layout or ""
        )

    @property
    def wants_workers(self) -> bool:
        """Whether the source is to run in worker processes."""
        return self.described is not None and bool(self.values["parallel"])

    def _each(self, name: str, index: int) -> Any:
        """What an argument says about one output: a single value stands for all of them."""
        value = self.values[name]
        if not isinstance(value, (list, tuple)):
            return value
        if len(value) == 1:
            return value[0]
        return value[index] if index < len(value) else None

    def convert(
        self, index: int, data: Any, limit: int | None, layout: str | None = None, cuda_stream: Any = None
    ) -> Batch:
        """Data for one output as a batch, checked against the declaration."""
        dtype: DALIDataType | None = self._each("dtype", index)
        declared = self._each("layout", index)
        if layout and declared and layout != declared:
            raise OperatorError(f"expects data with the layout '{declared}', got '{layout}'")
        wanted: dict[str, Any] = {
            "layout": (declared if layout is None else layout) or None,
            "dtype": None if dtype is NO_TYPE else dtype,
            "ndim": self._each("ndim", index),
            "limit": limit,
        }
        if self.target is not None:
            stream = self.values["cuda_stream"] if cuda_stream is None else cuda_stream
            batch = device_batch(data, self.target, stream, copy=not self.values["no_copy"])
            if batch is not None:
                return checked_batch(batch, **wanted)
        return incoming_batch(data, **wanted, copy=not self.values["no_copy"])

    def feed(self, data: Any, layout: str | None, limit: int | None, cuda_stream: Any = None) -> None:
        """Take a batch from outside; `cuda_stream` made it, if it is on a GPU.

        Raises
        ------
        OperatorError
            If there is a source, or the data is not what it must be.
        """
        if self.described is not None:
            raise self.fail("has a source of its own; nothing can be fed to it")
        try:
            batch = self.convert(0, data, limit, layout, cuda_stream)
        except OperatorError as error:
            error.operator, error.node = error.operator or self.name, error.node or self.node
            raise
        self.push(batch)

    def push(self, batch: Batch) -> None:
        """Take a batch that was converted before."""
        with self._arrived:
            self._fed.append(batch)
            self._arrived.notify_all()

    def ready(self) -> bool:
        if self.described is not None or self._fed:
            return True
        return bool(self.values["repeat_last"]) and self._last is not None

    def draw(self, batch_size: int) -> Draw:
        if self.described is None:
            batches: tuple[Batch, ...] = (self._next_fed(),)
        elif self.workers is not None:
            batches = self._from_workers(batch_size)
        else:
            batches = self._from_source(batch_size)
        sizes = {len(batch) for batch in batches}
        if len(sizes) > 1:
            raise self.fail(
                f"gave batches of different sizes for its outputs: {[len(batch) for batch in batches]}", "source"
            )
        self._check_alike(batches)
        return Draw(sizes.pop(), batches)

    def _check_alike(self, batches: Sequence[Batch]) -> None:
        """Refuse batches of another kind than those before; empty ones have no kind, and a layout may come later."""
        for index, batch in enumerate(batches):
            if not len(batch):
                continue
            before = self._kinds.get(index, {})
            kind = {"type": str(batch.dtype), "number of dimensions": batch.ndim, "layout": batch.layout}
            for what, value in kind.items():
                if before.get(what) and before[what] != value:
                    raise OperatorError(
                        f"the {what} of the data changed from {before[what]} to {value or 'none'} between batches",
                        operator=self.name,
                        node=self.node,
                    )
            self._kinds[index] = kind

    def _next_fed(self) -> Batch:
        with self._arrived:
            while not self._fed and self.values["blocking"] and not self._closed:
                if self.values["repeat_last"] and self._last is not None:
                    break
                self._arrived.wait()
            if self._closed:
                raise OperatorError("the pipeline was closed while an input waited to be fed", node=self.node)
            if self._fed:
                self._last = self._fed.popleft()
            elif not self.values["repeat_last"] or self._last is None:
                raise OperatorError(
                    "no batch was fed: call feed_input or run(name=...) before each run",
                    operator=self.name,
                    node=self.node,
                )
            return self._last

    def _request(self, batch_size: int) -> Request:
        return Request(self._iteration, self._sample, 0, batch_size, self._epoch)

    def _from_source(self, batch_size: int) -> tuple[Batch, ...]:
        assert self.described is not None
        try:
            columns = self.described.ask(self._request(batch_size))
        except StopIteration:
            self._iteration = self._sample = 0
            raise
        batches = tuple(self.convert(index, data, batch_size) for index, data in enumerate(columns))
        self._advance(batch_size)
        return batches

    def _from_workers(self, batch_size: int) -> tuple[Batch, ...]:
        assert self.workers is not None
        try:
            columns = self.workers.take(self._request(batch_size))
        except StopIteration:
            self._iteration = self._sample = 0
            raise
        self._advance(batch_size)
        return tuple(columns)

    def _advance(self, batch_size: int) -> None:
        self._iteration += 1
        self._sample += batch_size

    def reset(self) -> None:
        self._iteration = self._sample = 0
        self._epoch += 1
        if self.workers is not None:
            self.workers.reset()

    def state(self) -> Any:
        if self.described is None:
            return None
        if not self.described.indexed:
            self._warn_about_state()
        return {"iteration": self._iteration, "sample": self._sample, "epoch": self._epoch}

    _warned = False

    def _warn_about_state(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the state of the source of '{self.node}' is not part of checkpoints: only a callable that takes an"
                " argument can be asked for a batch again. After restoring, put the source where it was yourself.",
                UserWarning,
                stacklevel=2,
            )

    def restore(self, state: Any) -> None:
        self._iteration, self._sample, self._epoch = state["iteration"], state["sample"], state["epoch"]

    def shared_memory(self) -> list[int]:
        """Bytes of each block of shared memory that workers hold."""
        return self.workers.shared_memory() if self.workers is not None else []

    def close(self) -> None:
        with self._arrived:
            self._closed = True
            self._arrived.notify_all()
        if self.workers is not None:
            self.workers.pool.close()

    def run(self, call: Call) -> tuple[Batch, ...]:
        return tuple(batch.take(slice(call.start, call.start + call.count)) for batch in call.ticket)


def describe(values: Mapping[str, Any]) -> PythonSource:
    """The source that the arguments describe."""
    parallel = bool(values.get("parallel"))
    batch = values.get("batch")
    return make_source(
        values["source"],
        values.get("cycle"),
        not parallel if batch is None else bool(batch),
        bool(values.get("batch_info")),
        values.get("num_outputs"),
    )
